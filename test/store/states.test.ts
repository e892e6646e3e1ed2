/** Every verb in every state on a real database, against the table the docs are printed from. */
import { beforeEach, describe, expect, test } from 'vitest'
import { milliseconds } from '../../src/core/duration.ts'
import { type Action, defaultPolicy } from '../../src/core/policy.ts'
import { type State, states, transitions } from '../../src/core/state.ts'
import { claimJobs, giveBackClaims } from '../../src/store/claim.ts'
import { type ControlVerb, press } from '../../src/store/control.ts'
import { registerKinds } from '../../src/store/kind.ts'
import { recoverOrphans } from '../../src/store/recover.ts'
import { type Settle, settleJobs } from '../../src/store/settle.ts'
import { at, storeForFile } from '../support/store.ts'

const store = storeForFile()
beforeEach(() => store.worker('w2'))
const failure = { what: 'error', message: 'no', code: null, stack: null } as const

const settle = (outcome: Settle['outcome']) => (id: string) =>
  settleJobs(store.db, 'w', [{ id, attempt: 1, outcome }], at(5))
const recover = (onOrphan: Action) => async () => {
  await registerKinds(store.db, [{ kind: 'k', queue: 'q', version: 1, policy: { ...defaultPolicy, onOrphan } }], at(5))
  await recoverOrphans(store.db, 10, at(5))
}
const pressing = (verb: ControlVerb) => (id: string) => press(store.db, verb, id, at(5))

const verbs: Record<string, (id: string) => Promise<unknown>> = {
  claim: () => claimJobs(store.db, { wants: [{ queue: 'q', want: 1 }], kinds: ['k'], worker: 'w2' }, at(5)),
  succeed: settle({ state: 'succeeded', result: '1' }),
  skip: settle({ state: 'skipped', reason: 'empty' }),
  retry: settle({ state: 'waiting', delay: milliseconds(1), failure }),
  snooze: settle({ state: 'waiting', delay: milliseconds(1), failure: null }),
  fail: settle({ state: 'failed', failure }),
  'give back': id => giveBackClaims(store.db, 'w', [{ id, attempt: 1 }], at(5)),
  release: settle({ state: 'released' }),
  recover: recover('retry'),
  stall: recover('stall'),
  'give up': recover('fail'),
  resume: pressing('resume'),
  cancel: pressing('cancel'),
  rerun: pressing('rerun'),
  'skip by hand': id => press(store.db, 'skip', id, at(5), 'not needed'),
}

test('every verb of the table is tried, and no other', () => {
  expect(Object.keys(verbs).sort()).toEqual(transitions.map(way => way.verb).sort())
})

describe.each(states)('a job that is %s', from => {
  test.each(transitions)(`$verb leads to $to from $from, and nowhere else`, async ({ verb, from: allowed, to }) => {
    const id = await store.put(from)
    const before = await store.job(id)
    await verbs[verb]!(id)
    const after = await store.job(id)
    if (allowed.includes(from) && from !== to) expect(after.state).toBe(to)
    else expect(after).toEqual(before)
    expect(after.worker_id === null).toBe(after.state !== 'running')
  })
})

describe('pressed twice is pressed once:', () => {
  const from: Record<ControlVerb, State> = { cancel: 'running', rerun: 'failed', resume: 'stalled', skip: 'running' }
  test.each(Object.entries(from))('%s', async (verb, state) => {
    const id = await store.put(state)
    expect(await press(store.db, verb as ControlVerb, id, at(5))).toMatchObject({ moved: true })
    const once = await store.job(id)
    expect(await press(store.db, verb as ControlVerb, id, at(9))).toEqual({
      state: once.state,
      queue: 'q',
      batch: null,
      moved: false,
    })
    expect(await store.job(id)).toEqual(once)
  })

  test.each(Object.entries(from))('%s, by ten people at once: one of them did it', async (verb, state) => {
    const id = await store.put(state)
    const pressed = await Promise.all(Array.from({ length: 10 }, () => press(store.db, verb as ControlVerb, id, at(5))))
    expect(pressed.filter(each => each?.moved)).toHaveLength(1)
    expect(new Set(pressed.map(each => each?.state)).size).toBe(1)
  })

  test('recover', async () => {
    const id = await store.put('running')
    expect(await recoverOrphans(store.db, 10, at(5))).toHaveLength(1)
    const once = await store.job(id)
    expect(await recoverOrphans(store.db, 10, at(6))).toEqual([])
    expect(await store.job(id)).toEqual(once)
  })
})

test('a job that is not there is answered with nothing', async () => {
  for (const verb of ['cancel', 'rerun', 'resume'] as const)
    expect(await press(store.db, verb, '999999', at(0))).toBeUndefined()
})

test('a cancelled attempt keeps who ran it, and a rerun goes on counting attempts with a new budget', async () => {
  const id = await store.put('running', { attempt: 3 })
  await store.sql(`update retoma.job set failures = 2, crashes = 1, restarts = 4 where id = $1`, [id])
  await press(store.db, 'cancel', id, at(5))
  expect(await store.job(id)).toMatchObject({
    state: 'cancelled',
    last_worker: 'w',
    worker_id: null,
    finished_at: at(5),
  })
  await press(store.db, 'rerun', id, at(7))
  expect(await store.job(id)).toMatchObject({
    state: 'waiting',
    attempt: 3,
    failures: 0,
    restarts: 0,
    finished_at: null,
    run_at: at(7),
    rank: 8,
  })
})
