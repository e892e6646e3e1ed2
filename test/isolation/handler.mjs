/** A handler that does as its input says, in a thread or a process of its own. Each reports `at`, so that tests know where it ran. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, openSync, readFileSync, statSync } from 'node:fs'
import { threadId } from 'node:worker_threads'
import { doNotRetry, skip, snooze } from '../../dist/jobs/model/outcome.js'
// Not the whole library: each child would load it anew.
import { providerStop, providerWait } from '../../dist/providers/model/provider-errors.js'
import { spin } from './spin.mjs'

const called = new URL('./called.mjs', import.meta.url)

const forEver = () => new Promise(() => {})

const deeds = {
  answer: (ctx, { note }) => ({ note, at: here(), attempt: ctx.attempt, version: ctx.version }),

  /** Everything a context has, and the first attempt fails at its end. */
  async everything(ctx, { note }) {
    const kept = await ctx.step('kept', () => ({ map: new Map([['a', 1n]]), at: new Date(0), attempt: ctx.attempt }))
    const list = await ctx.each('list', ['x', 'y'], item => `${item}${ctx.attempt}`)
    await ctx.progress({ done: 1, total: 2 })
    const before = ctx.resumeData
    await ctx.checkpoint('place', { from: ctx.attempt })
    const written = await ctx.transaction('written', async tx => {
      const { rows } = await tx.query(
        `insert into reported (note, bytes, day) values ($1, $2, $3) returning length(note) as n, bytes, day`,
        [note, Buffer.from('hi'), new Date(0)],
      )
      const { n, bytes, day } = rows[0]
      return { n, bytes: Buffer.isBuffer(bytes) && String(bytes), day: day instanceof Date && day.getTime() }
    })
    await ctx.sleep('nap', 200)
    ctx.log.info({ note, why: () => 'a function' }, 'told')
    if (ctx.attempt <= 2)
      throw Object.assign(new TypeError('again', { cause: new Error('deeper') }), { code: 'E_AGAIN' })
    return { map: [...kept.map].map(String), at: kept.at.getTime(), attempt: kept.attempt, list, before, written }
  },

  /** Reports costs without an `await`; the first attempt fails. */
  async cost(ctx) {
    await ctx.step('paid', () => ctx.cost({ currency: 'USD', amount: '0.1' }))
    for (let n = 0; n < 10; n++) ctx.cost({ currency: 'USD', amount: '0.02' })
    ctx.cost({ currency: 'BRL', amount: '3' })
    if (ctx.attempt === 1) throw new Error('again')
    return ctx.cost({ currency: 'USD', amount: 0.1 }).then(String, error => error.code)
  },

  /** Returns the result of `ctx.query`, and its error for a write. */
  async read(ctx, { note }) {
    const { rows } = await ctx.query(`select $1::text as note, '\\x6869'::bytea as bytes`, [note])
    const refusals = await Promise.all(
      [
        () => ctx.query(`delete from retoma.token`),
        () => ctx.query(`select 1 / 0`),
        () => ctx.transaction('t', () => ctx.query(`select 1`)),
      ].map(ask => ask().then(String, error => error.code)),
    )
    const row = rows[0]
    return { note: row.note, bytes: Buffer.isBuffer(row.bytes) && String(row.bytes), refusals }
  },

  /** Reads the file of its input, both ways, and then dies if it is the first attempt and the input says so. */
  async file(ctx, { note }) {
    const [id, how] = note.split(' ')
    const file = await ctx.files.open(id)
    const path = await ctx.files.path(id)
    if (file === null || path === null) return { file, path }
    const hash = createHash('sha256')
    for await (const piece of file.bytes) hash.update(piece)
    const copy = createHash('sha256').update(readFileSync(path)).digest('hex')
    const mode = (statSync(path).mode & 0o777).toString(8)
    await ctx.progress({ note: path })
    if (how === 'die' && ctx.attempt === 1) process.exit(9)
    return { name: file.name, read: hash.digest('hex'), copy, path, mode, same: path === (await ctx.files.path(id)) }
  },

  /** The provider asks for a wait; then an error inside a transaction asks for a wait. */
  async waits(ctx) {
    const wait = () => {
      throw providerWait({ retryAfter: 1000, message: 'slow down' })
    }
    if (ctx.attempt === 1) await ctx.step('asked', () => ctx.provider('outside', wait))
    if (ctx.attempt === 2) await ctx.transaction('t', wait)
    return ctx.step('asked', () => ctx.provider('outside', () => 'answered'))
  },

  /** Its provider has stopped, and has other trouble when it is asked again. */
  stops: ctx =>
    ctx.provider('openrouter', () => {
      throw ctx.attempt === 1 ? providerStop({ code: '402', message: 'Insufficient credits' }) : new Error('500: boom')
    }),

  skip: () => skip('nothing to do'),
  snooze: ctx => (ctx.attempt === 1 ? snooze(1) : 'awake'),
  final: () => {
    throw doNotRetry(new RangeError('never'))
  },
  function: () => () => 'no data',
  forgotten: ctx => {
    void ctx.step('forgotten', () => 1)
  },

  /** Its error is caught, so PostgreSQL has given the transaction up. */
  async swallowed(ctx) {
    await ctx.transaction('t', async tx => {
      await tx.query('select 1 / 0').catch(() => {})
      await tx.query('select 1')
    })
  },
  async refused(ctx) {
    try {
      await ctx.transaction('t', tx => tx.query('select 1 / 0'))
    } catch (error) {
      return { code: error.code, message: error.message }
    }
    return 'nothing was refused'
  },

  /** Dies while its transaction is open, and does it again in peace. */
  async halfway(ctx, { note }) {
    await ctx.transaction('t', async tx => {
      await tx.query('insert into reported (note) values ($1)', [note])
      if (ctx.attempt === 1) process.exit(0)
    })
  },

  /** A function in a process of its own, called from wherever this is. */
  call: (ctx, { note }) => ctx.isolated('called', called, { do: 'answer', note }),
  async callInVain(ctx) {
    try {
      await ctx.isolated('called', called, { do: 'exit' })
    } catch (error) {
      return { code: error.code, facts: error.facts, at: here() }
    }
    return 'it did not die'
  },
  callSpinning: (ctx, { note }) => ctx.isolated('called', called, { do: 'spin', note }),
  async dieCalling(ctx, { note }) {
    const call = ctx.isolated('called', called, { do: 'spin', note })
    while (!existsSync(note)) await new Promise(resolve => setTimeout(resolve, 10))
    process.exit(5)
    await call
  },

  abort: () => process.abort(),
  /** Answers, and is dead a moment later; something holds its pipe open, so its parent takes its time to bury it. */
  dieLater() {
    spawn('sleep', ['2'], { detached: true, stdio: ['ignore', 'ignore', 'inherit'] }).unref()
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 100)
    return here()
  },
  exit: () => process.exit(3),
  async uncaught() {
    setImmediate(function thrownByNobody() {
      throw new TypeError('boom')
    })
    await forEver()
  },
  async rejected() {
    void Promise.reject(new TypeError('nobody hears this'))
    await forEver()
  },
  allocate() {
    process.stderr.write('about to allocate\n')
    for (const all = []; ; ) all.push(new Array(100_000).fill(Math.random()))
  },
  /** In native code, where no thread can be ended. */
  stuck(_, { note }) {
    openSync(note, 'r')
  },
  leak() {
    leaked.push(Buffer.alloc(80 * 1024 * 1024, 1))
    return here()
  },
  async spin(ctx) {
    await begin(ctx)
    spin()
  },
  /** For a worker with a long grace: when that closes, the next attempt ends at once. */
  spinOnce: (ctx, told) => (ctx.attempt === 1 ? deeds.spin(ctx) : deeds.listen(ctx, told)),
  async wait(ctx) {
    await begin(ctx)
    await forEver()
  },
  async listen(ctx) {
    await begin(ctx)
    await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
  },
  /** Answers, and leaves something behind that explodes under the next one. */
  async mine(ctx) {
    await ctx.step('laid', () => 1)
    setInterval(() => {
      if (armed) throw new Error('a mine of an earlier job')
    }, 5)
    return here()
  },
  async arm(ctx) {
    await begin(ctx)
    if (ctx.attempt > 1) return here()
    armed = true
    return forEver()
  },
}

let armed = false
const leaked = []

/** Tells where it is, and that it has begun. */
const begin = ctx => ctx.checkpoint('begun', undefined, { progress: { note: here() } })

const here = () => `${process.pid}/${threadId}`

export default (ctx, told) => deeds[told.do](ctx, told)
