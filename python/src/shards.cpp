// shards.cpp: tangere.Shards and tangere.ShardLedger: a specification's shards, computed anywhere, and the ledger of those that are done.
#include "bind.h"
#include "tangere/shard.h"

namespace tangere {

using Found = nb::typed<nb::dict, nb::str, nb::any>;

struct Shards {
  tgShards *shards = nullptr;
  std::atomic<bool> busy{false};

  explicit Shards(nb::object source) {
    std::string path = nb::cast<std::string>(nb::module_::import_("os").attr("fspath")(source));
    tgError error{};
    shards = tg_shards_load(path.c_str(), nullptr, &error);
    if (shards == nullptr) raise(error);
  }
  ~Shards() { tg_shards_free(shards); }
};

static std::string path_of(nb::handle given) { return nb::cast<std::string>(nb::module_::import_("os").attr("fspath")(given)); }

static std::string hex(uint64_t bits) {
  char text[20];
  snprintf(text, sizeof text, "%016llx", (unsigned long long)bits);
  return text;
}

static Found found(const tgShardResult &r) {
  Found d;
  d["shard"] = r.shard;
  d["points"] = r.points;
  d["failed"] = r.failed;
  d["bits"] = hex(r.bits);
  d["best"] = r.best;
  return d;
}

static tgShardResult result_of(const Found &d) {
  tgShardResult r{};
  r.shard = nb::cast<int>(d["shard"]);
  r.points = nb::cast<int>(d["points"]);
  r.failed = nb::cast<int>(d["failed"]);
  r.bits = std::stoull(nb::cast<std::string>(d["bits"]), nullptr, 16);
  r.best = nb::cast<double>(d["best"]);
  return r;
}

static Found run(Shards &s, int shard, nb::object folder) {
  Claim claim(s.busy, "Shards");
  std::string path = path_of(folder);
  tgShardResult result{};
  tgError error{};
  tgStatus st = TG_OK;
  long_call([&](const volatile int *cancel) { st = tg_shards_run(s.shards, shard, path.c_str(), cancel, &result, &error); });
  error.status = st;
  if (st != TG_OK) raise(error);
  return found(result);
}

static Found read(Shards &s, int shard, nb::object folder) {
  Claim claim(s.busy, "Shards");
  tgShardResult result{};
  tgError error{};
  tgStatus st = tg_shards_read(s.shards, shard, path_of(folder).c_str(), &result, &error);
  error.status = st;
  if (st != TG_OK) raise(error);
  return found(result);
}

struct ShardLedger {
  tgShardLedger *ledger = nullptr;

  ShardLedger(Shards &of, nb::object folder, int part, int parts) {
    tgError error{};
    ledger = tg_shard_ledger_open(of.shards, path_of(folder).c_str(), part, parts, &error);
    if (ledger == nullptr) raise(error);
  }
  ~ShardLedger() { close(); }
  void close() {
    tg_shard_ledger_close(ledger);
    ledger = nullptr;
  }
  void add(const Found &result) {
    tgError error{};
    tgShardResult r = result_of(result);
    tgStatus st = tg_shard_ledger_add(ledger, &r, &error);
    error.status = st;
    if (st != TG_OK) raise(error);
  }
  void sync() {
    tgError error{};
    tgStatus st = tg_shard_ledger_sync(ledger, &error);
    error.status = st;
    if (st != TG_OK) raise(error);
  }
};

static Found merge(const std::vector<std::string> &folders, nb::object out) {
  std::vector<const char *> list;
  for (const std::string &f : folders) list.push_back(f.c_str());
  std::string path = path_of(out);
  tgShardMerged m{};
  tgError error{};
  tgStatus st = TG_OK;
  long_call([&](const volatile int *) { st = tg_shards_merge(list.data(), (int)list.size(), path.c_str(), &m, &error); });
  error.status = st;
  if (st != TG_OK) raise(error);
  Found d;
  d["shards"] = m.shards;
  d["points"] = m.points;
  d["failed"] = m.failed;
  d["key"] = hex(m.key);
  d["bits"] = hex(m.bits);
  d["best"] = m.best;
  d["best_point"] = m.best_point;
  return d;
}

void bind_shards(nb::module_ &m) {
  nb::class_<Shards>(m, "Shards",
                     "The runs of a specification, cut into shards (page Many machines): Shards(path). A shard is a pure function: the "
                     "same bits wherever it is computed. One thread at a time.")
      .def(nb::init<nb::object>(), nb::arg("path"))
      .def("__len__", [](const Shards &s) { return tg_shards_count(s.shards); })
      .def_prop_ro("points", [](const Shards &s) { return tg_shards_points(s.shards); }, "Number of runs in all shards.")
      .def_prop_ro("key", [](const Shards &s) { return hex(tg_shards_key(s.shards)); }, "Hash of all that results depend on.")
      .def_prop_ro("identity", [](const Shards &s) { return std::string(tg_shards_identity(s.shards)); },
                   "Version, instruction set and the hashes of specification, task and model: what two machines compare.")
      .def_prop_ro("job", [](const Shards &s) { return std::string(tg_shards_job(s.shards)); }, "'optimize', 'rollouts' or 'gradient'.")
      .def("run", run, nb::arg("shard"), nb::arg("folder"),
           "Computes a shard and writes its result below the folder, whole or not at all; what the ledger keeps of it. Motions that "
           "fail are part of the result; Error says that the machine failed (disk, memory).")
      .def("read", read, nb::arg("shard"), nb::arg("folder"),
           "The same of a result that is there; Error where it is damaged or another run's.")
      .def_static("path", [](int shard) { char text[64]; return std::string(tg_shard_path(shard, text, sizeof text)); }, nb::arg("shard"),
                  "Path of a shard's result below a folder.")
      .def_static("merge", merge, nb::arg("folders"), nb::arg("out"),
                  "All results of the folders as one file out/merged.npz; what it holds.");
  nb::class_<ShardLedger>(m, "ShardLedger",
                          "Which shards are done: ShardLedger(shards, folder, part=0, parts=1), begun or taken up. One process writes it.")
      .def(nb::init<Shards &, nb::object, int, int>(), nb::arg("shards"), nb::arg("folder"), nb::arg("part") = 0, nb::arg("parts") = 1)
      .def("next", [](const ShardLedger &l, int from) { return tg_shard_ledger_next(l.ledger, from); }, nb::arg("start") = 0,
           "The first shard from `start` on that is not done; -1: none.")
      .def("add", &ShardLedger::add, nb::arg("result"), "Notes a shard whose result file is there: what Shards.run returned.")
      .def("sync", &ShardLedger::sync, "Hands what was noted to the disk.")
      .def("close", &ShardLedger::close, "The same, and lets another process write.")
      .def_prop_ro("total", [](const ShardLedger &l) { return tg_shard_ledger_total(l.ledger); }, "Shards of this part.")
      .def_prop_ro("done", [](const ShardLedger &l) { return tg_shard_ledger_done(l.ledger); }, "Of these, those that are done.")
      .def_prop_ro("failed", [](const ShardLedger &l) { return tg_shard_ledger_failed(l.ledger); },
                   "Points of them without a finite result.")
      .def_prop_ro("best", [](const ShardLedger &l) { return tg_shard_ledger_best(l.ledger); }, "Their least loss; infinite: none.");
}

}  // namespace tangere
