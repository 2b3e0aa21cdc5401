// A file system for SQLite that passes everything on to the standard one, and tells of it. Nothing where there is no SQLite.
#if __has_include(<sqlite3.h>)

#include "CRecordingDisk.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stddef.h>
#include <string.h>

static recording_disk_observer observer;
static sqlite3_vfs *standard;
static sqlite3_vfs recording;

typedef struct {
    sqlite3_file base;
    // SQLite keeps the name for as long as the file is open.
    const char *name;
    // In the memory behind this.
    sqlite3_file *real;
} recording_file;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char failing[512];
static int64_t first_failure;
static int failure;
static int64_t attempts;

void recording_disk_fail(const char *folder, int64_t first, int result) {
    pthread_mutex_lock(&lock);
    failing[0] = 0;
    if (folder) strncpy(failing, folder, sizeof failing - 1);
    first_failure = first;
    failure = result;
    attempts = 0;
    pthread_mutex_unlock(&lock);
}

int64_t recording_disk_attempts(void) {
    pthread_mutex_lock(&lock);
    int64_t count = attempts;
    pthread_mutex_unlock(&lock);
    return count;
}

// What an attempt to write to a file or to sync it comes to.
static int attempt(sqlite3_file *file) {
    const char *name = ((recording_file *)file)->name;
    int result = SQLITE_OK;
    pthread_mutex_lock(&lock);
    size_t length = strlen(failing);
    if (name && length && !strncmp(name, failing, length) && attempts++ >= first_failure) result = failure;
    pthread_mutex_unlock(&lock);
    return result;
}

static sqlite3_file *real(sqlite3_file *file) { return ((recording_file *)file)->real; }

static void tell(sqlite3_file *file, int action, sqlite3_int64 offset, const void *bytes, int count) {
    const char *name = ((recording_file *)file)->name;
    if (name) observer(action, name, offset, bytes, count);
}

static int file_close(sqlite3_file *file) { return real(file)->pMethods->xClose(real(file)); }

static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    return real(file)->pMethods->xRead(real(file), bytes, count, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    int failed = attempt(file);
    if (failed) return failed;
    int result = real(file)->pMethods->xWrite(real(file), bytes, count, offset);
    if (result == SQLITE_OK) tell(file, recording_disk_write, offset, bytes, count);
    return result;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
    int result = real(file)->pMethods->xTruncate(real(file), size);
    if (result == SQLITE_OK) tell(file, recording_disk_truncate, size, NULL, 0);
    return result;
}

static int file_sync(sqlite3_file *file, int flags) {
    int failed = attempt(file);
    if (failed) return failed;
    int result = real(file)->pMethods->xSync(real(file), flags);
    if (result == SQLITE_OK) tell(file, recording_disk_sync, 0, NULL, 0);
    return result;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    return real(file)->pMethods->xFileSize(real(file), size);
}

static int file_lock(sqlite3_file *file, int level) { return real(file)->pMethods->xLock(real(file), level); }

static int file_unlock(sqlite3_file *file, int level) { return real(file)->pMethods->xUnlock(real(file), level); }

static int file_check_lock(sqlite3_file *file, int *result) {
    return real(file)->pMethods->xCheckReservedLock(real(file), result);
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
    return real(file)->pMethods->xFileControl(real(file), operation, argument);
}

static int file_sector_size(sqlite3_file *file) { return real(file)->pMethods->xSectorSize(real(file)); }

static int file_characteristics(sqlite3_file *file) {
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **memory) {
    return real(file)->pMethods->xShmMap(real(file), page, size, extend, memory);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file) { real(file)->pMethods->xShmBarrier(real(file)); }

static int file_shm_unmap(sqlite3_file *file, int delete) {
    return real(file)->pMethods->xShmUnmap(real(file), delete);
}

// Version 2: without memory-mapped reads.
static const sqlite3_io_methods methods = {
    2,
    file_close,
    file_read,
    file_write,
    file_truncate,
    file_sync,
    file_size,
    file_lock,
    file_unlock,
    file_check_lock,
    file_control,
    file_sector_size,
    file_characteristics,
    file_shm_map,
    file_shm_lock,
    file_shm_barrier,
    file_shm_unmap,
    NULL,
    NULL,
};

static int disk_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *outFlags) {
    (void)vfs;
    recording_file *own = (recording_file *)file;
    own->base.pMethods = NULL;
    own->name = name;
    own->real = (sqlite3_file *)(own + 1);
    int result = standard->xOpen(standard, name, own->real, flags, outFlags);
    if (own->real->pMethods) own->base.pMethods = &methods;
    return result;
}

static int disk_delete(sqlite3_vfs *vfs, const char *name, int isDurable) {
    (void)vfs;
    int result = standard->xDelete(standard, name, isDurable);
    if (result == SQLITE_OK) observer(recording_disk_delete, name, 0, NULL, 0);
    return result;
}

int recording_disk_install(recording_disk_observer newObserver) {
    observer = newObserver;
    standard = sqlite3_vfs_find(NULL);
    if (!standard) return SQLITE_ERROR;
    // Everything else is the standard one's, which looks at none of its own fields.
    recording = *standard;
    recording.zName = "recording";
    recording.szOsFile = (int)sizeof(recording_file) + standard->szOsFile;
    recording.xOpen = disk_open;
    recording.xDelete = disk_delete;
    return sqlite3_vfs_register(&recording, 1);
}

#endif
