/* A disk that fails on command, for tests: preloaded into the program (LD_PRELOAD), it lets chosen system calls on chosen
 * files fail. The file named by BADFS_RULE holds one rule, "OP ERRNO HOW PATTERN":
 *   OP       write, sync, open (for writing), rename, cut, make (folders)
 *   ERRNO    a number
 *   HOW      before: nothing is done; half: half of it is written; after: all is done, and said to have failed
 *   PATTERN  fnmatch(3) on the path
 * No file, no rule. Each failure adds a line to BADFS_RULE.hits. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum how { NO, BEFORE, HALF, AFTER };

static enum how fails(const char *op, const char *path, int *error) {
    const char *rule = getenv("BADFS_RULE");
    char text[512] = "", named[16], how[16], pattern[256], hits[PATH_MAX];
    if (!rule || !path) return NO;
    int fd = syscall(SYS_openat, AT_FDCWD, rule, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NO;
    ssize_t n = syscall(SYS_read, fd, text, sizeof text - 1);
    syscall(SYS_close, fd);
    if (n <= 0 || sscanf(text, "%15s %d %15s %255s", named, error, how, pattern) != 4) return NO;
    if (strcmp(named, op) || fnmatch(pattern, path, 0)) return NO;
    snprintf(hits, sizeof hits, "%s.hits", rule);
    fd = syscall(SYS_openat, AT_FDCWD, hits, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    int len = snprintf(text, sizeof text, "%s %s\n", op, path);
    if (fd >= 0) {
        syscall(SYS_write, fd, text, len);
        syscall(SYS_close, fd);
    }
    return how[0] == 'a' ? AFTER : how[0] == 'h' ? HALF : BEFORE;
}

static enum how fails_fd(const char *op, int fd, int *error) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (n <= 0) return NO;
    path[n] = 0;
    return fails(op, path, error);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define JUDGED(verdict, act)                        \
    do {                                            \
        int error = 0;                              \
        switch (verdict) {                          \
        case NO: return act;                        \
        case AFTER: (void)!act;                     \
        default: errno = error; return -1;          \
        }                                           \
    } while (0)

ssize_t write(int fd, const void *data, size_t len) {
    int error = 0;
    switch (fails_fd("write", fd, &error)) {
    case NO: return REAL(write)(fd, data, len);
    case HALF: (void)!REAL(write)(fd, data, len / 2); break;
    case AFTER: (void)!REAL(write)(fd, data, len); break;
    default: break;
    }
    errno = error;
    return -1;
}

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at) {
    JUDGED(fails_fd("write", fd, &error), REAL(pwrite64)(fd, data, len, at));
}
ssize_t pwrite(int fd, const void *data, size_t len, off_t at) { return pwrite64(fd, data, len, at); }
int fsync(int fd) { JUDGED(fails_fd("sync", fd, &error), REAL(fsync)(fd)); }
int fdatasync(int fd) { JUDGED(fails_fd("sync", fd, &error), REAL(fdatasync)(fd)); }
int ftruncate64(int fd, off64_t len) { JUDGED(fails_fd("cut", fd, &error), REAL(ftruncate64)(fd, len)); }
int ftruncate(int fd, off_t len) { return ftruncate64(fd, len); }
int rename(const char *from, const char *to) { JUDGED(fails("rename", from, &error), REAL(rename)(from, to)); }
int mkdir(const char *path, mode_t mode) { JUDGED(fails("make", path, &error), REAL(mkdir)(path, mode)); }

static int opened(const char *path, int flags, mode_t mode) {
    enum how how = NO;
    int error = 0;
    if ((flags & O_ACCMODE) != O_RDONLY) how = fails("open", path, &error);
    if (how == NO) return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    errno = error;
    return -1;
}

#define MODE(flags, mode)                           \
    mode_t mode = 0;                                \
    if (flags & (O_CREAT | __O_TMPFILE)) {          \
        va_list more;                               \
        va_start(more, flags);                      \
        mode = va_arg(more, int);                   \
        va_end(more);                               \
    }

int open64(const char *path, int flags, ...) {
    MODE(flags, mode)
    return opened(path, flags | O_LARGEFILE, mode);
}
int open(const char *path, int flags, ...) {
    MODE(flags, mode)
    return opened(path, flags | O_LARGEFILE, mode);
}
