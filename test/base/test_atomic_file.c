// test_atomic_file.c: a file is whole or as before, and only regular files are replaced.
#include "base/atomic_file.h"

#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "output/folder.h"

static void test_write_and_replace(void **state) {
  (void)state;
  tgtFolder folder;
  tgt_folder_make(&folder);
  tgError error;
  const char *path = tgt_folder_file(&folder, "a.txt");
  for (int round = 0; round < 2; round++) {
    tgAtomicFile file;
    assert_int_equal(tgi_atomic_open(&file, path, &error), TG_OK);
    fprintf(file.stream, "round %d", round);
    // nothing under the name until the commit; then the old content until the new is whole
    char *before = tgt_read(path, NULL);
    if (round == 0) assert_null(before);
    else assert_string_equal(before, "round 0");
    free(before);
    assert_int_equal(tgi_atomic_commit(&file, &error), TG_OK);
    char *after = tgt_read(path, NULL);
    assert_string_equal(after, round == 0 ? "round 0" : "round 1");
    free(after);
  }
  assert_int_equal(tgt_folder_count(&folder), 1);
  tgt_folder_remove(&folder);
}

static void test_discard_leaves_nothing(void **state) {
  (void)state;
  tgtFolder folder;
  tgt_folder_make(&folder);
  tgAtomicFile file;
  assert_int_equal(tgi_atomic_open(&file, tgt_folder_file(&folder, "a.txt"), NULL), TG_OK);
  fputs("lost", file.stream);
  tgi_atomic_discard(&file);
  tgi_atomic_discard(&file);
  assert_int_equal(tgt_folder_count(&folder), 0);
  tgt_folder_remove(&folder);
}

static void test_what_is_no_file_is_refused(void **state) {
  (void)state;
  tgtFolder folder;
  tgt_folder_make(&folder);
  tgAtomicFile file;
  tgError error;
  check_refused(tgi_atomic_open(&file, "", &error), TG_ERR_ARG, error, "empty name");
  check_refused(tgi_atomic_open(&file, "/dev/null", &error), TG_ERR_FILE, error, "/dev/null is not a regular file");
  check_refused(tgi_atomic_open(&file, folder.path, &error), TG_ERR_FILE, error, "not a regular file");
  const char *fifo = tgt_folder_file(&folder, "fifo");
  assert_int_equal(mkfifo(fifo, 0600), 0);
  check_refused(tgi_atomic_open(&file, fifo, &error), TG_ERR_FILE, error, "not a regular file");
  check_refused(tgi_atomic_open(&file, "/nowhere/at/all", &error), TG_ERR_FILE, error, "No such file");
  const char *link = tgt_folder_file(&folder, "dangling");
  assert_int_equal(symlink("/nowhere/at/all", link), 0);
  check_refused(tgi_atomic_open(&file, link, &error), TG_ERR_FILE, error, "leads nowhere");
  assert_int_equal(tgt_folder_count(&folder), 2);
  tgt_folder_remove(&folder);
}

static void test_link_is_followed(void **state) {
  (void)state;
  tgtFolder folder;
  tgt_folder_make(&folder);
  tgt_write(tgt_folder_file(&folder, "real"), "old", 3);
  char link[400];
  strcpy(link, tgt_folder_file(&folder, "link"));
  assert_int_equal(symlink(tgt_folder_file(&folder, "real"), link), 0);
  tgAtomicFile file;
  assert_int_equal(tgi_atomic_open(&file, link, NULL), TG_OK);
  fputs("new", file.stream);
  assert_int_equal(tgi_atomic_commit(&file, NULL), TG_OK);
  char *now = tgt_read(tgt_folder_file(&folder, "real"), NULL);
  assert_string_equal(now, "new");
  free(now);
  struct stat info;
  assert_int_equal(lstat(link, &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  tgt_folder_remove(&folder);
}

// a full disk, by a limit on file size: the old file stays, the temporary one goes
static void test_full_disk_keeps_the_old_file(void **state) {
  (void)state;
  tgtFolder folder;
  tgt_folder_make(&folder);
  const char *path = tgt_folder_file(&folder, "a.txt");
  tgt_write(path, "old", 3);
  struct rlimit was, small;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
  small = was;
  small.rlim_cur = 4096;
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  tgAtomicFile file;
  tgError error;
  assert_int_equal(tgi_atomic_open(&file, path, &error), TG_OK);
  setrlimit(RLIMIT_FSIZE, &small);
  for (int i = 0; i < 100000; i++) fputs("0123456789", file.stream);
  tgStatus status = tgi_atomic_commit(&file, &error);
  setrlimit(RLIMIT_FSIZE, &was);
  signal(SIGXFSZ, handler);
  assert_int_equal(status, TG_ERR_DISK);
  assert_non_null(strstr(error.text, "cannot be written"));
  char *now = tgt_read(path, NULL);
  assert_string_equal(now, "old");
  free(now);
  assert_int_equal(tgt_folder_count(&folder), 1);
  tgt_folder_remove(&folder);
}

// what a process that was killed has left goes with the next write of the same file; what is another's, or of one that is there, stays
static void test_leftovers_of_the_dead_go(void **state) {
  (void)state;
  tgtFolder folder;
  tgt_folder_make(&folder);
  char path[400];
  strcpy(path, tgt_folder_file(&folder, "a.txt"));
  tgAtomicFile file, live;
  pid_t child = fork();
  if (child == 0) _exit(tgi_atomic_open(&file, path, NULL) == TG_OK ? 0 : 1);
  int ended;
  assert_true(child > 0 && waitpid(child, &ended, 0) == child && ended == 0);
  assert_int_equal(tgt_folder_count(&folder), 1);
  tgt_write(tgt_folder_file(&folder, "a.txt.tmp-elsewhere-1-0"), "x", 1);
  tgt_write(tgt_folder_file(&folder, "a.txt.tmp-"), "x", 1);
  assert_int_equal(tgi_atomic_open(&live, tgt_folder_file(&folder, "b.txt"), NULL), TG_OK);
  assert_int_equal(tgt_folder_count(&folder), 4);    // another file's write leaves them
  assert_int_equal(tgi_atomic_open(&file, path, NULL), TG_OK);
  assert_int_equal(tgi_atomic_commit(&file, NULL), TG_OK);
  assert_int_equal(tgt_folder_count(&folder), 4);    // the child's is gone, a.txt is there
  assert_int_equal(tgi_atomic_commit(&live, NULL), TG_OK);
  tgt_folder_remove(&folder);
}

// A temporary file whose process is not to be seen from here, as in another container of the same name, stays for as long as somebody holds
// it; then it goes.
static void test_what_is_held_stays(void **state) {
  (void)state;
  tgtFolder folder;
  tgt_folder_make(&folder);
  char path[400], host[40], name[460];
  strcpy(path, tgt_folder_file(&folder, "a.txt"));
  pid_t dead = fork();
  if (dead == 0) _exit(0);
  assert_true(dead > 0 && waitpid(dead, NULL, 0) == dead);
  assert_int_equal(gethostname(host, sizeof host), 0);
  host[sizeof host - 1] = '\0';
  for (char *at = host; *at != '\0'; at++)
    if (!isalnum((unsigned char)*at)) *at = '_';
  snprintf(name, sizeof name, "%s.tmp-%s-%ld-0", path, host, (long)dead);
  tgt_write(name, "x", 1);
  int fd = open(name, O_RDWR);
  assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
  for (int held = 1; held >= 0; held--) {
    tgAtomicFile file;
    assert_int_equal(tgi_atomic_open(&file, path, NULL), TG_OK);
    // what is written is held itself, until it has its name
    int other = open(file.tmp, O_RDWR);
    assert_true(other >= 0 && flock(other, LOCK_EX | LOCK_NB) != 0);
    close(other);
    assert_int_equal(tgi_atomic_commit(&file, NULL), TG_OK);
    assert_int_equal(access(name, F_OK) == 0, held);
    if (held) close(fd);
  }
  assert_int_equal(tgt_folder_count(&folder), 1);
  tgt_folder_remove(&folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_write_and_replace),          cmocka_unit_test(test_discard_leaves_nothing),
      cmocka_unit_test(test_what_is_no_file_is_refused), cmocka_unit_test(test_link_is_followed),
      cmocka_unit_test(test_full_disk_keeps_the_old_file), cmocka_unit_test(test_leftovers_of_the_dead_go),
      cmocka_unit_test(test_what_is_held_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
