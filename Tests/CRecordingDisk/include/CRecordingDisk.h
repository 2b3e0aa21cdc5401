#ifndef C_RECORDING_DISK_H
#define C_RECORDING_DISK_H

#include <stdint.h>

/// What was done to a file.
enum recording_disk_action {
    recording_disk_write,
    recording_disk_truncate,
    recording_disk_sync,
    recording_disk_delete
};

/// Hears of each thing that SQLite does to a file, once it is done.
///
/// `bytes` and `count` are those of a write; `offset` is where it begins, or the size after a truncation.
typedef void (*recording_disk_observer)(
    int action, const char *path, int64_t offset, const void *bytes, int64_t count);

/// Has all databases that are opened from now on use files that tell an observer what is done to them.
///
/// For the rest of the process; called once.
int recording_disk_install(recording_disk_observer observer);

/// Has writes and syncs in a folder fail from the so-manieth on, counted from 0, until this is called again.
///
/// `folder` is copied, and NULL for none; `result` is what SQLite is told, as `SQLITE_FULL`.
void recording_disk_fail(const char *folder, int64_t first, int result);

/// How many writes and syncs there were in that folder since then.
int64_t recording_disk_attempts(void);

#endif
