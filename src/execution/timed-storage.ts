/**
 * Wraps the storage of an attempt for the handler, in this process or in a child: the attempt's time pauses during each wait for the
 * database, and a write that finds the lease lost aborts the handler's signal.
 */

import type { Awake } from './attempt-clock.ts'
import type { AttemptStorage, StepTransactionResult } from './model/attempt-storage-calls.ts'
import type { WriteResult } from './model/write-result.ts'

/** The attempt, as this file uses the attempt. */
interface TimedAttempt {
  readonly time: { waiting<T>(answer: (awake: Awake) => Promise<T>): Promise<T> }
  written<Answer extends WriteResult | StepTransactionResult>(write: (awake: Awake) => Promise<Answer>): Promise<Answer>
  tellProvider: (
    ...args: [...Parameters<AttemptStorage['provider']>, storage: AttemptStorage]
  ) => ReturnType<AttemptStorage['provider']>
}

export function timedStorage(attempt: TimedAttempt, storage: AttemptStorage): AttemptStorage {
  const { time } = attempt
  return {
    load: () => time.waiting(() => storage.load()),
    save: (name, value) => attempt.written(() => storage.save(name, value)),
    note: note => attempt.written(() => storage.note(note)),
    cost: (currency, amount) => attempt.written(() => storage.cost(currency, amount)),
    readOnlyQuery: query => time.waiting(() => storage.readOnlyQuery(query)),
    provider: (name, word) => attempt.tellProvider(name, word, storage),
    file: id => time.waiting(() => storage.file(id)),
    piece: (id, n) => time.waiting(() => storage.piece(id, n)),
    copy: id => time.waiting(() => storage.copy(id)),
    // The attempt has ended: a warning costs the handler no time.
    warn: (what, facts) => storage.warn(what, facts),
    transact: (name, work, signal) =>
      attempt.written(awake => storage.transact(name, tx => awake(() => work(tx)), signal)),
  }
}
