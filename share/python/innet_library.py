"""The functions of libinnet.so for ctypes: innet_worker(3) describes them.

innet_torch uses this module if INNET_LIBRARY names the library.
"""
import ctypes


class Options(ctypes.Structure):
    """struct innet_worker_options of innet_worker.h"""
    _fields_ = [('size', ctypes.c_size_t), ('address', ctypes.c_char_p),
                ('key', ctypes.c_char_p), ('auth', ctypes.c_char_p),
                ('session', ctypes.c_void_p), ('session_bytes', ctypes.c_size_t),
                ('job', ctypes.c_uint32), ('rank', ctypes.c_uint32),
                ('ranks', ctypes.c_uint32), ('ring', ctypes.c_uint32),
                ('mtu', ctypes.c_uint32), ('give_up_ns', ctypes.c_uint64),
                ('join_timeout_ns', ctypes.c_uint64),
                ('silence_ns', ctypes.c_uint64), ('spin_ns', ctypes.c_uint64),
                ('impair', ctypes.c_char_p), ('reduce', ctypes.c_char_p),
                ('straggler_ns', ctypes.c_uint64)]


class Count(ctypes.Structure):
    """struct innet_worker_count of innet_worker.h"""
    _fields_ = [('most', ctypes.c_uint32), ('least', ctypes.c_uint32)]


def load(path):
    """Return libinnet.so with the types of its functions."""
    lib = ctypes.CDLL(path)
    handle, number = ctypes.c_void_p, ctypes.c_uint64
    lib.innet_worker_join.restype = handle
    lib.innet_worker_join.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    lib.innet_worker_start.restype = number
    lib.innet_worker_start.argtypes = [handle, ctypes.c_void_p, ctypes.c_void_p,
                                       ctypes.c_size_t, ctypes.c_void_p]
    lib.innet_worker_wait.argtypes = [handle, number, number]
    lib.innet_worker_floats.restype = ctypes.c_uint32
    lib.innet_worker_floats.argtypes = [handle]
    lib.innet_worker_error.argtypes = [handle, ctypes.c_char_p]
    lib.innet_worker_leave.restype = None
    lib.innet_worker_leave.argtypes = [handle]
    return lib
