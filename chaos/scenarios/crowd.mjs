/** Two hundred workers with nothing to do. */
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../lib/checks.mjs'
import { answers, killServer } from '../lib/server.mjs'

export const title = '200 idle workers: their heartbeats are under 50 row updates a second'
export const seconds = 120

const workers = 200
const inEach = 20

export async function play(stage) {
  await stage.sql('alter system set max_connections = 1000')
  killServer(stage.server.folder)
  await stage.server.revive()
  await until(() => answers(stage), 20)
  await Promise.all(Array.from({ length: workers / inEach }, () => stage.hire({ times: inEach })))
  await until(async () => (await stage.sql('select from retoma.worker where dead_at is null')).length === workers)
  await sleep(5000)
  const before = await updates(stage)
  const began = performance.now()
  await sleep(30_000)
  const after = await updates(stage)
  const rate = (after - before) / ((performance.now() - began) / 1000)
  stage.say(`${rate.toFixed(1)} row updates a second over all tables`)
  if (rate >= 50) stage.broke(`${rate.toFixed(1)} row updates a second`)
  const dead = await stage.sql('select id from retoma.worker where dead_at is not null')
  stage.brokeEach('idle workers were declared dead', dead)
}

async function updates(stage) {
  const [{ n }] = await stage.sql(
    `select sum(n_tup_upd)::int as n from pg_stat_user_tables where schemaname = 'retoma'`,
  )
  return n
}
