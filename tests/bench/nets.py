"""nets.py IN HIDDEN OUT BATCH - do the same as nets.c with PyTorch on one thread"""
import sys
import time

import torch

WARM, SECONDS = 200, 0.5


def noise(n):
    return ((torch.arange(n, dtype=torch.float64) * 7919 % 10007) / 10007
            * 2 - 1).float()


torch.set_num_threads(1)
size, hidden, out, batch = map(int, sys.argv[1:])
net = torch.nn.Sequential(
    torch.nn.Linear(size, hidden), torch.nn.ReLU(),
    torch.nn.Linear(hidden, hidden), torch.nn.ReLU(),
    torch.nn.Linear(hidden, out))
w, at = 0.1 * noise(sum(p.numel() for p in net.parameters())), 0
with torch.no_grad():
    for layer in net[::2]:
        n = layer.weight.numel()
        layer.weight.copy_(w[at:at + n].view(layer.weight.shape[::-1]).T)
        at += n
        layer.bias.copy_(w[at:at + len(layer.bias)])
        at += len(layer.bias)
x = noise(batch * size).view(batch, size)
want = noise(batch * out).view(batch, out)
adam = torch.optim.Adam(net.parameters(), lr=1e-3)


def step():
    adam.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x), want)
    loss.backward()
    adam.step()
    return loss


for _ in range(WARM + 1):
    error = step().item()
begun, steps = time.process_time(), 0
while time.process_time() < begun + SECONDS:
    for _ in range(20):
        step()
    steps += 20
print(f'{steps / (time.process_time() - begun):.1f} {error:.4f}')
