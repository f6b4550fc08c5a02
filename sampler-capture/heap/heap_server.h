/* heap_server.h - the other end of the sockets: what a service of fuchsia.memory.sampler does, but
 * that it writes the messages down.
 *
 * One connection is one process.  A packet that is no message ends its connection and no other
 * (docs/formats/memory-sampler.md sections 3 and 4); unknown flexible methods are skipped.  */
#ifndef HEAP_SERVER_H
#define HEAP_SERVER_H

#include "sampler-capture/heap/heap_record.h"
#include "sampler-capture/heap/protocol.h"
#include "sampler-capture/id_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connection;

struct server {
    char folder[HEAP_MAX_FOLDER + 1]; /* "": none */
    int folder_fd;                    /* of it, locked */
    int listen_fd;
    int losses_listen_fd;
    int gate_fd;        /* our end */
    int gate_peer_fd;   /* what processes inherit: see server_let_go() */
    int losses_peer_fd; /* likewise */
    int epoll_fd;       /* of doors_fd and all connections */
    int doors_fd;       /* of those where processes come in */
    int names_fd;
    int losses_fd;
    struct recorder *recorder;        /* borrowed */
    struct heap_loss_file *losses;    /* mapped */
    bool slot_taken[HEAP_LOSS_SLOTS]; /* a connection has it */
    struct id_table incarnations;     /* of pids */
    struct connection *connections;   /* owned list */
    uint64_t looked_ns;               /* at memory */
    size_t running;                   /* processes that the last round found running */
    bool warned;                      /* of packets that are no message */
    uint8_t *packet;                  /* owned; the packet that is being read */
    int64_t real_to_monotonic_ns;
    uint32_t refused;          /* processes that wanted to connect when we could not */
    struct record_loss others; /* what the trace says was lost of no connection */
    /* Of all connections, closed ones too.  */
    struct record_loss lost;
    /* As in struct heap_loss_file; at the end.  */
    uint32_t closed, confined, unconnected, unseen, foreign;
    uint32_t started[PROGRAM_KINDS];
    uint64_t waits; /* times that a thread waited for us */
    uint64_t packets;
};

/* Make a folder with a socket, and listen; folders are removed that captures left which were
 * killed.  False with errno.  server_release() frees what there is.  */
bool server_open(struct server *server, struct recorder *recorder);

/* What processes inherit, gate_peer_fd or losses_peer_fd, as text for the environment (protocol.h);
 * "" if there is none.  */
#define SERVER_PEER_SIZE 40
void server_peer(int peer_fd, char text[SERVER_PEER_SIZE]);

/* Its key, likewise.  */
#define SERVER_KEY_SIZE 33
void server_key(const struct server *server, char text[SERVER_KEY_SIZE]);

/* The first process has inherited the gate and the losses: close what is its own of that.  */
void server_let_go(struct server *server);

/* Poll it for input.  */
int server_fd(const struct server *server);

/* Poll it for processes that want to connect, or want something to begin with: they wait.  */
int server_doors_fd(const struct server *server);

/* As many packets, of one connection or those who come in, before the others get their turn.  */
#define SERVER_BURST 64

/* Take what is there from all connections, but no more than a burst of each.  With last: until
 * nothing is left of what has been sent by now, then close them.  False when the trace cannot go
 * on; see recorder.  */
bool server_round(struct server *server, bool last);

/* Removes the folder.  */
void server_release(struct server *server);

#endif /* HEAP_SERVER_H */
