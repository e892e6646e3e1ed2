/**
 * Retoma beside its peers, in one run on one machine: `npm run bench` (or `node bench/run.mjs --jobs 50000 --rounds 5`).
 * Rounds are interleaved, each contender in a process and a database of its own; the table gives medians and ratios.
 * The PostgreSQL is the embedded one with the settings it ships with, fsync and synchronous_commit on.
 */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { setup } from '../scripts/setup.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const { values: asked } = parseArgs({
  options: {
    jobs: { type: 'string', default: '50000' },
    rounds: { type: 'string', default: '5' },
    concurrency: { type: 'string', default: '50' },
    only: { type: 'string' },
    measure: { type: 'string' },
  },
})

await setup({ build: true })
if (!existsSync(join(here, 'node_modules', 'graphile-worker'))) {
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: here, stdio: ['ignore', 'ignore', 'inherit'] })
}
const { default: pg } = await import('pg')
const { openEmbedded } = await import('../dist/postgres/index.js')

const node =
  [`node-${process.platform}-${process.arch}`]
    .map(name => join(here, 'node_modules', name, 'bin', 'node'))
    .find(existsSync) ?? process.execPath
const folder = mkdtempSync(join(tmpdir(), 'retoma-bench-'))
const server = await openEmbedded({ dataDir: folder })
const redis = await startRedis()

const contenders = [
  { name: 'retoma', contender: 'retoma', concurrency: Number(asked.concurrency) },
  { name: 'graphile-worker, fastest', contender: 'graphile', mode: 'fastest', concurrency: 24 },
  { name: 'graphile-worker', contender: 'graphile', mode: 'default', concurrency: 24, share: 0.2 },
  { name: 'pg-boss, batches', contender: 'pg-boss', share: 0.4 },
  ...(redis ? [{ name: 'BullMQ on Redis', contender: 'bullmq', redis: true, concurrency: 50, share: 0.4 }] : []),
].filter(each => !asked.only || each.name.includes(asked.only) || each.name === 'retoma')

const rounds = Number(asked.rounds)
const jobs = Number(asked.jobs)
const results = new Map(contenders.map(each => [each.name, []]))
try {
  for (let round = 1; round <= rounds; round++) {
    for (const each of contenders) {
      const burn =
        asked.measure === 'pickup'
          ? {}
          : await measure(each, { measure: 'burnDown', jobs: Math.round(jobs * (each.share ?? 1)) })
      const pickup = asked.measure === 'burnDown' ? {} : await measure(each, { measure: 'pickup', jobs: 300 })
      const row = { ...pickup, ...burn }
      results.get(each.name).push(row)
      console.error(`round ${round}: ${each.name} ${JSON.stringify(row)}`)
    }
  }
  printTable()
} finally {
  redis?.stop()
  await server.leave()
  rmSync(folder, { recursive: true, force: true })
}

async function measure(each, task) {
  const name = `bench_${Math.random().toString(36).slice(2)}`
  const admin = new pg.Client({ connectionString: server.url })
  await admin.connect()
  await admin.query(`create database ${name}`)
  await admin.query('checkpoint')
  const url = new URL(server.url)
  url.pathname = `/${name}`
  try {
    return await child({ ...each, ...task, url: each.redis ? redis.url : url.href })
  } finally {
    await admin.query(`drop database ${name} with (force)`)
    await admin.end()
  }
}

function child(task) {
  return new Promise((resolve, reject) => {
    const run = spawn(node, [join(here, 'child.mjs'), JSON.stringify(task)], { stdio: ['ignore', 'pipe', 'inherit'] })
    let out = ''
    run.stdout.on('data', text => {
      out += text
    })
    run.on('close', code =>
      code === 0
        ? resolve(JSON.parse(out.trim().split('\n').at(-1)))
        : reject(new Error(`${task.name} ended with ${code}`)),
    )
  })
}

function printTable() {
  const median = (name, field) => {
    const all = results
      .get(name)
      .map(row => row[field])
      .filter(value => value !== undefined)
      .sort((a, b) => a - b)
    return all[Math.floor(all.length / 2)]
  }
  console.log(
    `\n${jobs} jobs, median of ${rounds} interleaved rounds; × is Retoma's figure over the peer's (for pickup the peer's over Retoma's)\n`,
  )
  console.log('| | burn-down jobs/s | × | bulk enqueue jobs/s | × | pickup p50 ms | × | pickup p99 ms | × |')
  console.log('|---|---|---|---|---|---|---|---|---|')
  for (const { name } of contenders) {
    const cells = ['burnDown', 'enqueue', 'p50', 'p99'].flatMap(field => {
      const [mine, theirs] = [median('retoma', field), median(name, field)]
      if (mine === undefined || theirs === undefined) return ['', '']
      const ratio = field.startsWith('p') ? theirs / mine : mine / theirs
      return [theirs.toLocaleString('en'), ratio.toFixed(2)]
    })
    console.log(`| ${name} | ${cells.join(' | ')} |`)
  }
}

async function startRedis() {
  const found = process.env.PATH.split(':').some(path => existsSync(join(path, 'redis-server')))
  if (!found) {
    console.error('no redis-server on PATH: BullMQ on Redis is left out')
    return undefined
  }
  const port = 20_000 + Math.floor(Math.random() * 20_000)
  const run = spawn(
    'redis-server',
    [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--appendonly',
      'yes',
      '--appendfsync',
      'everysec',
      '--dir',
      folder,
    ],
    { stdio: 'ignore' },
  )
  await new Promise(resolve => setTimeout(resolve, 500))
  return { url: `redis://127.0.0.1:${port}`, stop: () => run.kill() }
}
