#ifndef SERVICES_SCHEDULER_CORE_CORE_STATE_H_
#define SERVICES_SCHEDULER_CORE_CORE_STATE_H_

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "services/scheduler/core/core.h"
#include "services/scheduler/core/parking_lot.h"
#include "services/scheduler/core/pending_queue.h"
#include "services/scheduler/core/quota_ledger.h"
#include "services/scheduler/core/unit_table.h"

// Private to the core: what it owns, and how its parts are laid out.
//
//   core.cc      events: what each one changes
//   placement.cc where a unit belongs, by what is known of it
//   cycle.cc     RunCycle: wake, ask, admit, refuse
//   telling.cc   what the objects are told, and when again
//   queues.cc    Queue objects: kept in step with the quotas
//   picture.cc   TakeSnapshot
//   invariants.cc BrokenInvariants
namespace kq::scheduler {

// One Queue object and who waits in it.
struct QueueRecord {
  explicit QueueRecord(const OrderPolicy* order) : pending(order) {}

  Queue object;
  PendingQueue pending;
  bool has_policy = false;                       // a supported one was set; it is that of `pending`
  RefusalDetail unusable;                        // kNone: it admits
  std::string trouble;                           // for people; may be set although it admits
  int64_t served = 0;                            // which admission its last one was; 0: none since the start
  int64_t admitted_now = 0, refused_now = 0;     // asks of this cycle
  std::shared_ptr<const QueueSnapshot> picture;  // null: out of date
};

// A write to a Queue object of which we wait for the effect.
struct QueueWrite {
  bool on_its_way = false;
  int failures = 0;
  absl::Time retry_at = absl::InfinitePast();
};

struct CoreState {
  explicit CoreState(CoreOptions options_in) : options(std::move(options_in)), table(options.guards) {}

  // --- core.cc
  void On(const UnitUpserted& event, absl::Time now);
  void On(const UnitRemoved& event, absl::Time now);
  void On(const QueueUpserted& event, absl::Time now);
  void On(const QueueRemoved& event, absl::Time now);
  void On(const QuotaUpserted& event, absl::Time now);
  void On(const QuotaRemoved& event, absl::Time now);
  void On(const Listed& event, absl::Time now);
  void On(const LeadershipTaken& event, absl::Time now);
  void On(const WriteFinished& event, absl::Time now);
  void On(const QueueWriteFinished& event, absl::Time now);
  void On(const TellFinished& event, absl::Time now);
  void TakeAnswer(UnitEntry* entry, const WriteFinished& event, absl::Time now);
  // A quota of this name came, went or is another: what was drawn or written by it is looked at again.
  void NoteQuotaChange(const std::string& name);

  // --- placement.cc
  // Puts the unit where it belongs, and makes the ledger say what it holds.
  // REQUIRES: it is linked in nowhere.
  void Place(UnitEntry* entry, absl::Time now);
  void PlaceWaiting(UnitEntry* entry, absl::Time now);
  // Sets from when it waits, unless it was waiting for the same before.
  void NoteWaiting(UnitEntry* entry, absl::Time now);
  // Takes it out of wherever it is; the ledger is left alone.
  void Unlink(UnitEntry* entry);
  // News that change nothing for the scheduler, such as our own message.
  void Refresh(UnitEntry* entry, const QueueUnit& before);
  void SetPlace(UnitEntry* entry, kq::scheduler::Place place, const RefusalDetail& why, absl::Time now);
  // Charges the unit and lists it under its quota; LetGo takes it off the list.
  void Hold(UnitEntry* entry, const Resources& amount);
  void LetGo(UnitEntry* entry);
  void Rest(UnitEntry* entry, const absl::Status& status, absl::Time now);
  void StopResting(UnitEntry* entry);
  void Forget(const ObjectKey& key, uint64_t version);
  void CountAssumed(const std::string& queue, int64_t by);
  void MakeReady(UnitEntry* entry);
  void CountType(const QueueUnit& unit, int64_t by);
  void MarkChanged(const UnitEntry& entry);

  // --- cycle.cc
  void WakeResting(absl::Time now);
  void WakeParked();
  void AskQueues(absl::Time now, std::vector<Decision>* decisions);
  // Queues of one priority: an admission each, and again; first whose last was longest ago.
  void TakeTurns(std::vector<QueueRecord*> queues, int64_t limit, absl::Time now, std::vector<Decision>* decisions);
  // Whether one was admitted; if not, nobody is left to ask, or `limit` is reached.
  bool AskUntilAdmitted(QueueRecord* queue, int64_t limit, absl::Time now, std::vector<Decision>* decisions);
  Verdict Ask(UnitEntry* entry, const QueueRecord& queue, const Resources& need);
  Decision Admit(UnitEntry* entry, QueueRecord* queue, const Resources& need, absl::Time now);
  void Refuse(UnitEntry* entry, QueueRecord* queue, RefusalDetail why, absl::Time now,
              std::vector<Decision>* decisions);
  void ParkBehindHeads(QueueRecord* queue, absl::Time now, std::vector<Decision>* decisions);

  // --- telling.cc
  // Tells the object why it waits, unless it says so already or the write that
  // says it is on its way.
  void Tell(UnitEntry* entry, absl::Time now, std::vector<Decision>* decisions);
  void SendMessage(UnitEntry* entry, bool with_event, absl::Time now, std::vector<Decision>* decisions);
  // Tell is to look at it in the next cycle, when there is room among those on their way.
  void WantTold(UnitEntry* entry);
  // Its message says the right reason; whether with other numbers.
  void NoteNumbers(UnitEntry* entry, bool differ, absl::Time now);
  // Its quota is there, so its queue is about to be, unless creating it failed: not
  // a missing queue yet.
  bool QueueIsComing(const UnitEntry& entry) const;
  bool MayBeTold(const UnitEntry& entry) const;
  void TellUnplaced(absl::Time now, std::vector<Decision>* decisions);
  void TellAgain(absl::Time now, std::vector<Decision>* decisions);
  void RefreshMessages(absl::Time now, std::vector<Decision>* decisions);

  // --- queues.cc
  // What a Queue object means for its record; notes what to tell its owner, if anything.
  void Configure(QueueRecord* record);
  // The newest trouble of the queue, if any, is told in the next cycle, and none before it.
  void NoteTrouble(const QueueRecord& record);
  void DropNotices(const ObjectKey& queue);
  void ReconcileQueues(absl::Time now, std::vector<Decision>* decisions);
  void CreateMissingQueues(absl::Time now, std::vector<Decision>* decisions);
  void CarryPolicies(absl::Time now, std::vector<Decision>* decisions);
  void DeleteOrphans(absl::Time now, std::vector<Decision>* decisions);
  // What is wrong with quotas, as events on them: once, and again when it is another or has come again.
  void TellTroubles(std::vector<Decision>* decisions);
  // Why a quota with an older one of its name, `in_force`, does not count.
  static std::string ShadowedText(const ObjectKey& in_force);
  // What should be mended although the quota admits, with the reason of its event.
  struct Warning {
    absl::string_view reason;
    std::string text;  // empty: nothing
  };
  static Warning WarningAbout(const Quota& quota);
  bool MayWriteQueue(const std::string& name, absl::Time now);
  QueueRecord* RecordOf(const std::string& name);
  void SortQueues();

  // --- picture.cc
  std::shared_ptr<const Snapshot> TakeSnapshot(absl::Time now);
  std::shared_ptr<const QueueSnapshot> QueuePicture(const QueueRecord& record);
  std::shared_ptr<const QuotaSnapshot> QuotaPicture(const Quota& quota, bool shadowed);
  void RefreshQuotaPictures();

  const CoreOptions options;
  UnitTable table;
  QuotaLedger ledger;
  ParkingLot lot;
  std::map<std::string, QueueRecord> queues;  // by name
  // Queue -> its units whose write is on its way. Outlives the Queue object.
  std::map<std::string, int64_t> assumed;
  std::vector<QueueRecord*> queue_order;  // larger priority first, then by name
  std::set<std::pair<absl::Time, ObjectKey>> resting;
  std::map<std::string, std::set<ObjectKey>> unmapped;             // queue that is missing ("": none named) -> units
  std::set<ObjectKey> unplaced;                                    // unmapped, invalid, inactive
  std::map<std::string, std::map<ObjectKey, UnitEntry*>> holders;  // quota -> units that hold some of it
  std::map<std::pair<std::string, std::string>, int64_t> units_by_type;  // (namespace, job kind)

  // To be told in the next cycle.
  std::set<ObjectKey> untold;                                // unplaced units
  std::list<UnitEntry*> to_tell;                             // whose message may be missing, in turn
  std::set<std::pair<absl::Time, ObjectKey>> resting_tells;  // to be told, but not yet
  int64_t tells_on_the_way = 0;
  // Whose message says the reason, but older numbers; and from when on the next one may be written.
  std::set<std::pair<absl::Time, ObjectKey>> refreshes;
  absl::Time refresh_free_at = absl::InfinitePast();
  // Events on queues, at most one for each that is there: one that does not lead
  // keeps what is still true when it does.
  std::vector<Decision> notices;

  std::map<std::string, QueueWrite> queue_writes;
  std::set<std::string> told_conflicts;              // quota's UID and policy that is not supported
  std::map<std::string, std::string> told_troubles;  // by the quota's UID, as its event says
  bool queues_to_reconcile = true;
  std::optional<absl::Time> reconcile_at;  // a queue write is to be tried again

  std::set<ListedKind> listed;
  std::string epoch;  // empty: does not lead
  uint64_t revision = 0;
  bool changed = true;
  bool more_to_ask = false;  // the last cycle stopped at its limit
  int64_t asked = 0;
  int64_t admissions = 0;
  std::shared_ptr<const RefusalDetail> last_why;  // of the unit refused last
  std::vector<Core::AskCount> last_cycle;

  // Parts of the last picture.
  std::map<ObjectKey, std::shared_ptr<const QuotaSnapshot>> quota_pictures;
  std::set<std::string> changed_quotas;
  bool quotas_listed_anew = true;
  std::shared_ptr<const std::vector<UnitSnapshot>> unplaced_picture;
  std::shared_ptr<const std::map<std::pair<std::string, std::string>, int64_t>> type_picture;
};

// Whether the difference between two values of one unit matters to the scheduler.
bool SameClaim(const QueueUnit& a, const QueueUnit& b);
// Whether the message of an inactive unit comes from the controllers, who know more of it: in a phase that they
// end, such as a backoff, and of a Job that its user holds.
bool SaidByController(const UnitEntry& entry);
// What the unit will hold when what it still needs has been admitted too.
Resources HeldOnceAdmitted(const QueueUnit& unit);

}  // namespace kq::scheduler

#endif  // SERVICES_SCHEDULER_CORE_CORE_STATE_H_
