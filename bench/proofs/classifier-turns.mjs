/**
 * Executions that take turns, at `retoma up` over HTTP with an AI that needs a second for an answer: five documents behind 2,000, fifty
 * executions of five documents at once, and two projects with the weights 1 and 3. The starts are read from the ledger of the AI.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createJiti } from 'jiti'
import { final, openClassifier } from '../lib/classifier-server.mjs'
import { grouped, round } from '../lib/figures.mjs'
import { until } from '../lib/until.mjs'

export const title =
  'five documents behind 2,000 end within 5 s, and fifty executions of five at once; the 2,000 lose no more than their share; the weights 1 and 3 share 1 to 3'

const jiti = createJiti(import.meta.url)
const { late } = await jiti.import('../../apps/classifier/test/behaviours.ts')

export async function prove(given) {
  const server = await given.room.server()
  for (const part of [behindLarge, fiftyAtOnce, byWeight]) await part({ ...given, database: await server.database() })
}

const small = 5
/** Milliseconds in which the starts beside five documents are counted. */
const window = 6000
/** The end of an execution that is cancelled is no news. */
const quiet = { LOG_LEVEL: 'error' }
/** The documents of small executions have numbers above all documents of the large execution. */
const above = 10_000

const isSmall = ({ document }) => Number(document.slice(2)) > above

/** Calls of the large execution, and of all, since the call number `from`. */
function startsSince(ai, from) {
  const calls = ai.calls.slice(from)
  return { all: calls.length, large: calls.filter(call => !isSmall(call)).length }
}

/** A large execution at work: its starts in some whole seconds, because the answers come every second. */
async function largeAtWork({ ai, execute }, total, seconds) {
  ai.behave(late(1000))
  const large = await execute(total)
  await until(() => ai.calls.length >= 40)
  await sleep(2000)
  const before = ai.calls.length
  await sleep(seconds * 1000)
  return { large, perSecond: (ai.calls.length - before) / seconds }
}

/**
 * Returns the seconds from `began`, before the requests which made the executions, to the end of each execution. A single statement checks
 * all executions, so the check costs little beside the work.
 */
async function timed(database, runs, began) {
  const seconds = new Map()
  const look = async () => {
    const rows = await database.sql(
      `select id::text as id from classifier.execucoes_classificacao where id = any ($1::bigint[]) and status = any ($2::text[])`,
      [runs.map(({ id }) => id), final],
    )
    for (const { id } of rows) if (!seconds.has(id)) seconds.set(id, (performance.now() - began) / 1000)
    return seconds.size === runs.length
  }
  await until(look, { everyMs: 100, seconds: 120 })
  return [...seconds.values()]
}

async function behindLarge(given) {
  const { say, hold, atMost, atLeast, scale } = given
  const t = await openClassifier({ ...given, environment: quiet })
  const total = Math.max(Math.round(2000 * scale), 400)
  const { large, perSecond } = await largeAtWork(t, total, 5)
  const [from, began] = [t.ai.calls.length, performance.now()]
  const run = await t.execute(small, { from: above + 1 })
  const { diagnostico } = await run.status()
  const [seconds] = await timed(given.database, [run], began)
  // A window of several answers, so that the loss of the large execution can be told from the second between two answers.
  await sleep(Math.max(window - (performance.now() - began), 0))
  const took = (performance.now() - began) / 1000
  const starts = startsSince(t.ai, from)
  const { concluidos } = await run.status()
  say(
    `alone, the ${grouped(total)} start ${round(perSecond, 1)} documents a second; the five then read: ${diagnostico}`,
  )
  say(
    `the five ended after ${round(seconds, 1)} s, while ${starts.large} of the ${grouped(total)} started in ${round(took, 1)} s`,
  )
  hold(`the five were classified: ${concluidos}`, concluidos === small)
  atMost('the five ended within', seconds, 5, ' s')
  // The answers come every second: one second of starts may lie outside.
  atLeast(
    'starts of the large one, of what it would have had but for five',
    starts.large,
    perSecond * (took - 1) - small,
  )
  await t.house.ask(`/execucoes/${large.id}/cancelar`, { method: 'POST' })
  await t.house.end()
}

async function fiftyAtOnce(given) {
  const { say, hold, atMost, atLeast, scale } = given
  const atOnce = 100
  const t = await openClassifier({ ...given, environment: { ...quiet, OPENROUTER_CONCURRENCY: String(atOnce) } })
  const total = Math.max(Math.round(2000 * scale), 1500)
  const many = Math.max(Math.round(50 * scale), 10)
  const { large, perSecond } = await largeAtWork(t, total, 3)
  const [from, began] = [t.ai.calls.length, performance.now()]
  const runs = await Promise.all(
    Array.from({ length: many }, (_, n) => t.execute(small, { from: above + 1 + n * small })),
  )
  const made = (performance.now() - began) / 1000
  const seconds = await timed(given.database, runs, began)
  const took = (performance.now() - began) / 1000
  const starts = startsSince(t.ai, from)
  const worst = Math.max(...seconds)
  say(
    `${many} executions of five, made in ${round(made, 1)} s, with ${atOnce} documents at once: the first ended after ${round(Math.min(...seconds), 1)} s, the last after ${round(worst, 1)} s; ${starts.large} of the ${grouped(total)} started meanwhile (alone ${round(perSecond, 1)} a second)`,
  )
  const done = await Promise.all(runs.map(async run => (await run.status()).concluidos))
  hold(
    `all were classified`,
    done.every(each => each === small),
  )
  atMost('the last ended within', worst, 5, ' s')
  const expected = perSecond * (took - 1) * 0.8
  atLeast('starts of all, of what the large one would have had', starts.all, expected)
  atLeast(
    'starts of the large one, which loses no more than the others took',
    starts.large,
    Math.max(expected - many * small, 1),
  )
  await t.house.ask(`/execucoes/${large.id}/cancelar`, { method: 'POST' })
  await t.house.end()
}

async function byWeight(given) {
  const { say, atLeast, atMost } = given
  const t = await openClassifier({ ...given, environment: quiet })
  t.ai.behave(late(200))
  const heavy = await t.makeProject({ peso: 3 })
  const runs = await Promise.all([t.execute(400), t.execute(400, { from: above + 1, of: heavy })])
  await until(() => t.ai.calls.length >= 60, { seconds: 60 })
  const from = t.ai.calls.length
  await until(() => t.ai.calls.length >= from + 240, { seconds: 120 })
  const { all, large: light } = startsSince(t.ai, from)
  say(`of ${all} starts, ${light} were of weight 1 and ${all - light} of weight 3`)
  const ratio = (all - light) / light
  atLeast('weight 3 over weight 1', ratio, 2.7)
  atMost('weight 3 over weight 1', ratio, 3.3)
  for (const { id } of runs) await t.house.ask(`/execucoes/${id}/cancelar`, { method: 'POST' })
  await t.house.end()
}
