/* Writes down what a process does to the files below one folder, so that a test can make the folder as a loss of power
 * may leave it. Preloaded (LD_PRELOAD) into the daemon; the test is tests/it/blackout/.
 *
 *   POWERLOSS_ROOT   the folder, absolute, without a slash at its end
 *   POWERLOSS_TRACE  the trace, outside of it
 *
 * Each call is made and then written to the trace under one lock, so that the trace has the true order. Data that is
 * written is in it, so that the test can make the folder of every moment. fsync and fdatasync are only noted: they would
 * take time, and the system does not fail here. sync_file_range is not noted, for it promises nothing about size or place.
 *
 * A record: op (1 byte), fd (4), flags (4), number (8), microseconds since 1970 (8), lengths of two texts (4 + 4), the texts;
 * numbers as this machine has them.
 *
 * Not seen: calls of the C library's own (fopen and what follows: RocksDB's LOG), memory maps (nobody writes by one here),
 * names relative to a folder's descriptor. The test compares the replayed trace with the real folder, so that a call that
 * is missing here is noticed.
 *
 * What a test may take from an ext4 (data=ordered, also with noauto_da_alloc) or XFS volume after a failure:
 *  - Contents: what fsync or fdatasync of the file covered is there. Of the later writes and truncations a beginning is
 *    there, in their order, the last of them perhaps in part. Pages of that beginning may be zeros when the size reached the disk before
 *    them. With data=writeback they may be anything.
 *  - Names: both file systems write changes of names to one log in order, so that a beginning of all changes is there, and all
 *    that came before a sync of whatever file. POSIX promises less: only a sync of the folder keeps its names. The test
 *    takes either, the second as a beginning of each folder's own changes.
 *  - Names and contents are independent: a new name can be there with nothing in the file.
 * Not modelled: sectors that become unreadable, a drive that lies about its cache. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum op { OPEN = 1, CLOSE, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, MKDIR, RMDIR, LINK };

#define MAX_FD 65536
static char noted[MAX_FD]; /* descriptors of files below the root */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int trace = -1;
static const char *root;
static size_t root_len;

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (!found) abort();
  return found;
}

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("POWERLOSS_TRACE");
  root = getenv("POWERLOSS_ROOT");
  if (!path || !root) return;
  root_len = strlen(root);
  trace = REAL(open)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (trace < 0) abort();
}

static int below(const char *path) {
  return trace >= 0 && path && strncmp(path, root, root_len) == 0 && (path[root_len] == '/' || path[root_len] == 0);
}

static int is_noted(int fd) { return trace >= 0 && fd >= 0 && fd < MAX_FD && noted[fd]; }

/* Of a call that is made or not made as a whole; the caller holds the lock. */
static void note(enum op op, int fd, int flags, uint64_t number, const void *a, size_t a_len, const void *b, size_t b_len) {
  unsigned char head[33];
  struct timespec now;
  int kept = errno;
  uint32_t lens[2] = {(uint32_t)a_len, (uint32_t)b_len};
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t us = (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
  head[0] = (unsigned char)op;
  memcpy(head + 1, &fd, 4);
  memcpy(head + 5, &flags, 4);
  memcpy(head + 9, &number, 8);
  memcpy(head + 17, &us, 8);
  memcpy(head + 25, lens, 8);
  struct iovec parts[3] = {{head, sizeof head}, {(void *)a, a_len}, {(void *)b, b_len}};
  if (REAL(writev)(trace, parts, 3) != (ssize_t)(sizeof head + a_len + b_len)) abort();
  errno = kept;
}

static void note_names(enum op op, const char *a, const char *b) {
  note(op, -1, 0, 0, a, strlen(a), b ? b : "", b ? strlen(b) : 0);
}

static void note_written(int fd, uint64_t at, const void *data, size_t len) { note(WRITE, fd, 0, at, data, len, "", 0); }

static int note_open(int fd, const char *path, int flags) {
  if (fd < 0 || fd >= MAX_FD) return fd;
  noted[fd] = 1;
  note(OPEN, fd, flags, 0, path, strlen(path), "", 0);
  return fd;
}

#define MODE(flags)                                                                                                    \
  mode_t mode = 0;                                                                                                     \
  if ((flags) & (O_CREAT | __O_TMPFILE)) {                                                                             \
    va_list rest;                                                                                                      \
    va_start(rest, flags);                                                                                             \
    mode = va_arg(rest, mode_t);                                                                                       \
    va_end(rest);                                                                                                      \
  }

/* A file without a name (O_TMPFILE) outlives nothing. */
#define OPENED(path, flags, call)                                                                                      \
  if (!below(path) || ((flags) & __O_TMPFILE) == __O_TMPFILE) return call;                                             \
  pthread_mutex_lock(&lock);                                                                                           \
  int fd = note_open(call, path, flags);                                                                               \
  pthread_mutex_unlock(&lock);                                                                                         \
  return fd;

int open(const char *path, int flags, ...) {
  MODE(flags)
  OPENED(path, flags, REAL(open)(path, flags, mode))
}

int open64(const char *path, int flags, ...) {
  MODE(flags)
  OPENED(path, flags, REAL(open64)(path, flags, mode))
}

int openat(int dir, const char *path, int flags, ...) {
  MODE(flags)
  OPENED(path, flags, REAL(openat)(dir, path, flags, mode))
}

int openat64(int dir, const char *path, int flags, ...) {
  MODE(flags)
  OPENED(path, flags, REAL(openat64)(dir, path, flags, mode))
}

int creat(const char *path, mode_t mode) { return open(path, O_WRONLY | O_CREAT | O_TRUNC, mode); }

int close(int fd) {
  if (!is_noted(fd)) return REAL(close)(fd);
  pthread_mutex_lock(&lock);
  noted[fd] = 0;
  note(CLOSE, fd, 0, 0, "", 0, "", 0);
  int done = REAL(close)(fd);
  pthread_mutex_unlock(&lock);
  return done;
}

/* A second descriptor of the same file: as if the file had been opened by its name. */
int fcntl64(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void *argument = va_arg(rest, void *);
  va_end(rest);
  if (!is_noted(fd) || (command != F_DUPFD && command != F_DUPFD_CLOEXEC)) return REAL(fcntl64)(fd, command, argument);
  pthread_mutex_lock(&lock);
  int other = REAL(fcntl64)(fd, command, argument);
  if (other >= 0 && other < MAX_FD) {
    noted[other] = 1;
    note(OPEN, other, 0, (uint64_t)fd + 1, "", 0, "", 0);
  }
  pthread_mutex_unlock(&lock);
  return other;
}

int fcntl(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void *argument = va_arg(rest, void *);
  va_end(rest);
  return fcntl64(fd, command, argument);
}

ssize_t write(int fd, const void *data, size_t len) {
  if (!is_noted(fd)) return REAL(write)(fd, data, len);
  pthread_mutex_lock(&lock);
  ssize_t done = REAL(write)(fd, data, len);
  if (done > 0) note_written(fd, (uint64_t)(lseek(fd, 0, SEEK_CUR) - done), data, (size_t)done);
  pthread_mutex_unlock(&lock);
  return done;
}

static ssize_t write_at(int fd, const void *data, size_t len, off_t at) {
  if (!is_noted(fd)) return REAL(pwrite)(fd, data, len, at);
  pthread_mutex_lock(&lock);
  ssize_t done = REAL(pwrite)(fd, data, len, at);
  if (done > 0) note_written(fd, (uint64_t)at, data, (size_t)done);
  pthread_mutex_unlock(&lock);
  return done;
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t at) { return write_at(fd, data, len, at); }
ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at) { return write_at(fd, data, len, at); }

/* Writing less than was asked for is allowed, so the first part alone will do. */
ssize_t writev(int fd, const struct iovec *parts, int count) {
  if (!is_noted(fd)) return REAL(writev)(fd, parts, count);
  for (int i = 0; i < count; i++)
    if (parts[i].iov_len > 0) return write(fd, parts[i].iov_base, parts[i].iov_len);
  return 0;
}

static int truncated(int fd, off_t len) {
  if (!is_noted(fd)) return REAL(ftruncate)(fd, len);
  pthread_mutex_lock(&lock);
  int done = REAL(ftruncate)(fd, len);
  if (done == 0) note(TRUNCATE, fd, 0, (uint64_t)len, "", 0, "", 0);
  pthread_mutex_unlock(&lock);
  return done;
}

int ftruncate(int fd, off_t len) { return truncated(fd, len); }
int ftruncate64(int fd, off64_t len) { return truncated(fd, len); }

/* Making room past the end changes the size unless it is told not to; other modes are not used. */
static int made_room(int fd, int mode, off_t at, off_t len) {
  if (!is_noted(fd)) return REAL(fallocate)(fd, mode, at, len);
  pthread_mutex_lock(&lock);
  int done = REAL(fallocate)(fd, mode, at, len);
  struct stat now;
  if (done == 0 && !(mode & FALLOC_FL_KEEP_SIZE) && fstat(fd, &now) == 0)
    note(TRUNCATE, fd, 0, (uint64_t)now.st_size, "", 0, "", 0);
  pthread_mutex_unlock(&lock);
  return done;
}

int fallocate(int fd, int mode, off_t at, off_t len) { return made_room(fd, mode, at, len); }
int fallocate64(int fd, int mode, off64_t at, off64_t len) { return made_room(fd, mode, at, len); }
int posix_fallocate(int fd, off_t at, off_t len) { return made_room(fd, 0, at, len) == 0 ? 0 : errno; }
int posix_fallocate64(int fd, off64_t at, off64_t len) { return posix_fallocate(fd, at, len); }

static int synced(int fd) {
  pthread_mutex_lock(&lock);
  note(SYNC, fd, 0, 0, "", 0, "", 0);
  pthread_mutex_unlock(&lock);
  return 0;
}

int fsync(int fd) { return is_noted(fd) ? synced(fd) : REAL(fsync)(fd); }
int fdatasync(int fd) { return is_noted(fd) ? synced(fd) : REAL(fdatasync)(fd); }

#define NAMED(op, a, b, call)                                                                                          \
  if (!below(a)) return call;                                                                                          \
  pthread_mutex_lock(&lock);                                                                                           \
  int done = call;                                                                                                     \
  if (done == 0) note_names(op, a, b);                                                                                 \
  pthread_mutex_unlock(&lock);                                                                                         \
  return done;

int rename(const char *from, const char *to) { NAMED(RENAME, from, to, REAL(rename)(from, to)) }
int unlink(const char *path) { NAMED(UNLINK, path, NULL, REAL(unlink)(path)) }
int mkdir(const char *path, mode_t mode) { NAMED(MKDIR, path, NULL, REAL(mkdir)(path, mode)) }
int rmdir(const char *path) { NAMED(RMDIR, path, NULL, REAL(rmdir)(path)) }
int link(const char *from, const char *to) { NAMED(LINK, from, to, REAL(link)(from, to)) }
/* remove() of the C library, and Rust's link: by folder and name. */
int linkat(int a, const char *from, int b, const char *to, int flags) {
  NAMED(LINK, from, to, REAL(linkat)(a, from, b, to, flags))
}
int unlinkat(int dir, const char *name, int flags) {
  char path[2 * PATH_MAX], link[64];
  if (trace < 0 || name[0] == '/' || dir < 0) {
    snprintf(path, sizeof path, "%s", name);
  } else { /* a folder removed with all that is in it */
    snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
    ssize_t n = readlink(link, path, PATH_MAX);
    snprintf(path + (n > 0 ? n : 0), PATH_MAX, "/%s", name);
  }
  NAMED(flags & AT_REMOVEDIR ? RMDIR : UNLINK, path, NULL, REAL(unlinkat)(dir, name, flags))
}
