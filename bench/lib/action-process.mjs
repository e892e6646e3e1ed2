/**
 * `node action-process.mjs '{"url":…}'`: ten callers, each with a separate engine and connections, run actions on the newest
 * batches until the signal to stop: in even rounds all ten run the same action on the same batch, in odd rounds each caller
 * runs a random action. All ten also cancel small batches while the items end, so chunks and flushes meet. Refusals because
 * of the state are counted; any other error is reported.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { randomFrom } from '../../chaos/lib/random.mjs'
import { stallBatch } from '../../dist/batches/sql/batch-actions.js'
import { openDb } from '../../dist/database/db.js'
import { createEngine, defineBatch, isRetomaError } from '../../dist/index.js'
import { silentLog } from '../../dist/lib/logging/log.js'
import { toEnqueue } from './jobs.mjs'

const { url, callers, seed, among } = JSON.parse(process.argv[2])
process.on('disconnect', () => process.exit(1))
let stopped = false
process.on('message', () => {
  stopped = true
})

const random = randomFrom(seed)
const db = openDb({ url, log: silentLog })
const engines = await Promise.all(
  Array.from({ length: callers }, () => createEngine({ databaseUrl: url, connections: 2, migrate: false })),
)
const fine = new Set(['batch_state', 'batch_cancelled', 'batch_paused', 'resumes_spent', 'wrong_state', 'key_reserved'])
const seen = { called: {}, changed: {}, refused: {}, errors: [] }

const someItem = async (engine, id, state) => {
  const { items } = await engine.batches.items(id, state ? { state, limit: 100 } : { limit: 100 })
  return items.length > 0 ? random.one(items).id : undefined
}
const ofItem = (state, act) => async (engine, id) => {
  const item = await someItem(engine, id, state)
  return item === undefined ? undefined : act(engine, item)
}

const actions = {
  pause: (engine, id) => engine.batches.pause(id),
  'retry failed': (engine, id) => engine.batches.retryFailed(id),
  'retry failed of one cause': async (engine, id) => {
    const [group] = await engine.batches.failures(id)
    return group && engine.batches.retryFailed(id, { cause: group.cause })
  },
  // The verdict of the watchdog, without the wait for the watchdog.
  stall: async (_, id) => ({ changed: (await stallBatch(db, id, { code: 'storm' }, null)) !== undefined }),
  resume: (engine, id) => engine.batches.resume(id),
  cancel: (engine, id) => engine.batches.cancel(id),
  priority: (engine, id) => engine.batches.setPriority(id, Math.floor(random.next() * 10)),
  'skip an item': ofItem(undefined, (engine, item) => engine.jobs.skip(item, 'the storm')),
  'skip a running item': ofItem('running', (engine, item) => engine.jobs.skip(item, 'the storm')),
  'skip a failed item': ofItem('failed', (engine, item) => engine.jobs.skip(item, 'the storm')),
  'cancel an item': ofItem('running', (engine, item) => engine.jobs.cancel(item)),
  'retry an item': ofItem('failed', (engine, item) => engine.jobs.retry(item)),
  'retry a skipped item': ofItem('skipped', (engine, item) => engine.jobs.retry(item)),
  'resume an item': ofItem('stalled', (engine, item) => engine.jobs.resume(item)),
}
/**
 * An action which stops a batch runs less often than an action which continues a batch. Cancel is rare because cancel
 * ends the batch.
 */
const shares = { cancel: 1, pause: 6, stall: 6, resume: 32 }
const often = Object.keys(actions).flatMap(action => Array(shares[action] ?? 8).fill(action))

async function act(engine, action, id) {
  const add = (list, name) => {
    list[name] = (list[name] ?? 0) + 1
  }
  add(seen.called, action)
  try {
    const answer = await actions[action](engine, id)
    if (answer?.changed) add(seen.changed, action)
  } catch (error) {
    if (isRetomaError(error) && fine.has(error.code)) add(seen.refused, error.code)
    else if (seen.errors.length < 20) seen.errors.push(`${action} of ${id}: ${error.stack ?? error}`)
  }
}

async function pressAll() {
  for (let round = 0; !stopped; round++) {
    const { items } = await engines[0].batches({ limit: 200 })
    const batches = items.filter(({ name }) => name !== small.name).slice(0, among)
    if (batches.length > 0) {
      const [action, { id }] = [random.one(often), random.one(batches)]
      const one = engine =>
        round % 2 === 0 ? act(engine, action, id) : act(engine, random.one(often), random.one(batches).id)
      await Promise.all(engines.map(one))
    }
    await sleep(random.between(0, 30))
  }
}

const small = defineBatch({ name: 'small', job: toEnqueue('stormy'), onComplete: toEnqueue('done') })

async function cancelSmallOnes() {
  while (!stopped) {
    const inputs = Array.from({ length: 100 }, () => ({ ms: Math.round(random.between(0, 10)) }))
    const { id } = await engines[0].submit(small, inputs, { priority: 0 })
    await sleep(random.between(0, 60))
    await Promise.all(engines.map(engine => act(engine, 'cancel', id)))
  }
}

await Promise.all([pressAll(), cancelSmallOnes(), cancelSmallOnes(), cancelSmallOnes(), cancelSmallOnes()])
await Promise.all(engines.map(engine => engine.close()))
await db.close()
process.send({ report: seen }, () => process.exit(0))
