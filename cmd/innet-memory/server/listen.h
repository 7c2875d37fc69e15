/*
 * listen.h - the sockets on which clients connect
 */
#ifndef INNET_MEMORY_SERVER_LISTEN_H
#define INNET_MEMORY_SERVER_LISTEN_H

struct server;

/* Open the sockets of srv->conf; print an error and exit if that fails. */
void listen_open(struct server *srv);

/* Accept clients again after the server ran out of file descriptors. */
void listen_again(struct server *srv);

/* Close the sockets. */
void listen_close(struct server *srv);

#endif
