/**
 * Five servers, each with a database of its own: `work` (a working day, with some trouble), `calm` (the same without trouble), `empty`
 * (just installed), `leaving` (loses its connection) and `locked` (asks for a log-in). Times are real, so a picture says "há 12 s" and not a made-up age.
 */
import { createServer } from 'node:http'
import { createEngine } from 'retoma'
import { createApp, toNodeHandler } from 'retoma/http'
import { createTestDatabase } from 'retoma/testing'
import { writeHistory } from './history.mjs'
import { classifyTicket, closeMonth, definitions, invoices, newsletter, sendEmail, slowInvoices } from './jobs.mjs'
import { useSystems } from './systems.mjs'

const systemNames = ['classifier', 'quotes', 'documents', 'snaps', 'planner']

async function server(options = {}) {
  const database = await createTestDatabase()
  const systems = await Promise.all(systemNames.map(async name => (await import(`@retoma/${name}`))[name]()))
  const { jobs, batches, schedules, guards } = options.isEmpty ? {} : definitions
  const engine = await createEngine({
    databaseUrl: database.url,
    log: false,
    jobs,
    batches,
    schedules,
    guards,
    systems,
  })
  for (const table of ['orders', 'shipments'])
    await engine.query(
      `create table ${table} (id bigint primary key generated always as identity, status text, error_message text, updated_at timestamptz)`,
    )
  engine.watch()
  const app = createApp(engine, {
    open: options.isOpen ?? true,
    log: false,
    systems,
    simulated: systems.flatMap(each => each.simulated ?? []),
    routes: systems.flatMap(each => each.routes),
  })
  const http = createServer(toNodeHandler(app))
  await new Promise(resolve => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address()
  const url = `http://127.0.0.1:${port}`
  return {
    engine,
    url,
    async ask(method, path, body, headers = {}) {
      const isForm = body instanceof FormData
      const response = await fetch(`${url}${path}`, {
        method,
        headers: isForm || body === undefined ? headers : { 'content-type': 'application/json', ...headers },
        body: isForm || body === undefined ? body : JSON.stringify(body),
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
      return text === '' ? undefined : JSON.parse(text)
    },
    /** The server is gone until `start`; open pages lose their connection. */
    stop() {
      http.close()
      http.closeAllConnections()
    },
    start: () => http.listen(port, '127.0.0.1'),
    async close() {
      app.endStreams()
      http.closeAllConnections()
      await new Promise(resolve => http.close(resolve))
      await engine.close()
    },
  }
}

const numbers = count => Array.from({ length: count }, (_, n) => n + 1)
const invoiceRef = ({ n }) => `NF-${String(40_000 + n)}`

/** Jobs of every state and batches that ended. */
async function workingDay({ engine }) {
  const { id: mixed } = await engine.submit(
    slowInvoices,
    numbers(1200).map(n => ({
      n,
      ends: n % 97 === 0 ? 'tax' : n % 41 === 0 ? 'gateway' : n % 29 === 0 ? 'copy' : undefined,
    })),
    { ref: invoiceRef },
  )
  const { id: letters } = await engine.submit(
    newsletter,
    numbers(20_000).map(n => ({ n })),
    { ref: ({ n }) => `cliente-${n}` },
  )
  await engine.enqueueMany(
    sendEmail,
    numbers(180).map(n => ({ to: n % 23 === 0 ? `caixa-cheia-${n}@exemplo.com.br` : `cliente-${n}@exemplo.com.br` })),
  )
  const { id: closed } = await engine.enqueue(closeMonth, { month: '2026-04' }, { ref: 'fechamento-2026-04' })
  await engine.wait({ batch: mixed })
  await engine.wait({ batch: letters })
  await engine.wait({ job: closed })
  return { mixed, letters, closed }
}

/** Stalled, paused, waiting and failing. */
async function trouble({ engine }) {
  const { id: slow } = await engine.enqueue(
    closeMonth,
    { month: '2026-05', ends: 'slow' },
    { ref: 'fechamento-2026-05' },
  )
  const { id: failed } = await engine.enqueue(sendEmail, { to: 'lenta@exemplo.com.br' }, { ref: 'boas-vindas-811' })
  await engine.enqueue(classifyTicket, { refuses: 'waits' })
  await engine.enqueue(classifyTicket, { refuses: 'stops' })
  const { id: stalled } = await engine.submit(
    invoices,
    numbers(5000).map(n => ({
      n,
      ends: n > 3100 ? 'hangs' : n % 137 === 0 ? 'tax' : n % 50 === 0 ? 'copy' : undefined,
    })),
    { ref: invoiceRef },
  )
  await engine.wait({ job: failed })
  await engine.wait({ batch: stalled })
  await engine.query(
    "insert into orders (status, updated_at) select 'PROCESSING', now() - interval '1 hour' * n from generate_series(1, 4) n",
  )
  await engine.queues.pause('email')
  await engine.enqueueMany(
    sendEmail,
    numbers(42).map(n => ({ to: `novo-${n}@exemplo.com.br` })),
    {},
  )
  return { slow, failed, stalled }
}

export async function createWorld() {
  const [work, calm] = [await server(), await server()]
  const [empty, leaving] = [await server({ isEmpty: true }), await server({ isEmpty: true })]
  const locked = await server({ isOpen: false })
  const servers = { work, calm, empty, leaving, locked }
  const history = {
    email: { perMinute: 220, duration: 180, waiting: 400 },
    invoices: { perMinute: 90, duration: 900, waiting: 1500, failing: 0.02 },
    reports: { perMinute: 3, duration: 40_000, waiting: 2000 },
  }
  const slots = {
    invoices: 24,
    email: 16,
    reports: 4,
    support: 4,
    classifier: 8,
    quotes: 4,
    documents: 4,
    sync: 2,
    planner: 2,
    snaps: 2,
  }
  for (const each of [work, calm]) {
    await each.engine.work({ queues: slots })
  }
  const done = await workingDay(work)
  await workingDay(calm)
  const running = await calm.engine.submit(
    slowInvoices,
    numbers(3000).map(n => ({ n, ends: n > 2200 ? 'hangs' : n % 97 === 0 ? 'tax' : undefined })),
    { ref: invoiceRef },
  )
  const bad = await trouble(work)
  const systems = await useSystems(work)
  const admin = await locked.engine.tokens.create({ user: 'ana', role: 'admin' })
  await locked.engine.tokens.create({ user: 'bruno', role: 'viewer' })
  // The charts show a working day, not the minute in which the jobs above ran.
  for (const each of [work, calm]) await writeHistory(each.engine, history)
  return {
    facts: { ...done, ...bad, ...systems, running: running.id, token: admin.token },
    url: (state, path) => `${servers[state].url}${path}`,
    servers,
    async close() {
      for (const each of Object.values(servers)) await each.close()
    },
  }
}
