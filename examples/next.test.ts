/**
 * The example with Next.js as a reader has the example: built and started by the scripts of package.json, for production. The
 * test copies the example into the folder with Next.js, because Next.js builds no code outside, and copies Retoma into
 * node_modules, as npm does. The copy has no setting of a test.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../src/testing/index.ts'
import { until } from '../test/support/engine.ts'
import { isClosed, isOpen, withAccess } from './behind-proxy.ts'
import { answersAsItShould, listening, tellsWhatHappens, workersIn } from './mounted.ts'
import { here, root } from './support.ts'

const stand = join(root, 'test', 'next')
const packages = join(stand, 'node_modules')
const isCompiler = (name: string) => name.startsWith('swc-')
let folder: string

/** Runs a script of package.json as `npm run` does; `end` ends the script and all child processes. */
async function script(name: 'build' | 'start', more: string, env: Record<string, string> = {}) {
  const { scripts } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  const path = [join(packages, '.bin'), dirname(process.execPath), process.env.PATH].join(delimiter)
  const child = spawn('sh', ['-c', `${scripts[name]} ${more}`], {
    cwd: folder,
    detached: true,
    env: { ...process.env, NODE_ENV: undefined, NEXT_TELEMETRY_DISABLED: '1', PATH: path, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const end = () => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // The process group has already ended.
    }
  }
  return { child, end }
}

/** Copies the package and links the dependencies, as npm would install Retoma. */
async function installRetoma(): Promise<void> {
  const to = join(folder, 'node_modules', 'retoma')
  for (const part of ['package.json', 'dist', 'sql']) await cp(join(root, part), join(to, part), { recursive: true })
  await symlink(join(root, 'node_modules'), join(to, 'node_modules'))
}

async function started(env: Record<string, string> = {}) {
  const database = await createTestDatabase(inject('serverUrl'))
  onTestFinished(database.drop)
  const more = '--hostname 127.0.0.1 --port 0'
  const { child, end } = await script('start', more, { DATABASE_URL: database.url, ...env })
  onTestFinished(end)
  return { ...(await listening(child, database.url)), url: database.url, workers: () => workersIn(database.url) }
}

/**
 * `npm run test:packages` installs Next.js. The compiler does not exist for every system, and without a compiler Next.js
 * would download another.
 */
const isInstalled = existsSync(join(packages, '@next')) && readdirSync(join(packages, '@next')).some(isCompiler)

describe.skipIf(!isInstalled)('the example with Next.js', () => {
  let endBuild = () => {}
  beforeAll(async () => {
    folder = await mkdtemp(join(stand, '.run-'))
    await cp(join(here, 'next'), folder, {
      recursive: true,
      filter: source => !/[/\\](node_modules|\.next)$/.test(source),
    })
    const file = join(folder, 'retoma.ts')
    await writeFile(file, withAccess(await readFile(file, 'utf8')))
    await installRetoma()
    const { child, end } = await script('build', '')
    endBuild = end
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += chunk))
    const [code] = await once(child, 'close')
    expect({ code, output }).toMatchObject({ code: 0 })
    // The build takes 12 s of computing, and minutes on a busy machine.
  }, 400_000)
  afterAll(async () => {
    endBuild()
    await rm(folder, { recursive: true, force: true })
  })

  test('works before anybody asks, is looked at, given work, and answers what is wrong, below its base path', async () => {
    const { ask, origin, asked, workers } = await started()
    await until(() =>
      workers().then(
        ids => ids.length === 1,
        () => false,
      ),
    )
    await answersAsItShould(ask)
    const elsewhere = await fetch(new URL('/api/v1/batches', origin))
    expect({ status: elsewhere.status, type: elsewhere.headers.get('content-type') }).toEqual({
      status: 404,
      type: 'text/html; charset=utf-8',
    })
    expect(await asked('SIGTERM')).toMatchObject({ code: 0, workers: [] })
  })

  test('streams events, and ends though somebody listens', async () => {
    const { ask, asked } = await started()
    await tellsWhatHappens(ask)
    const { body } = await ask('/api/v1/events')
    await body!.getReader().read()
    expect(await asked('SIGTERM')).toMatchObject({ code: 0, workers: [] })
  })

  test('on Vercel nothing works by itself: an upload waits for the cron, which works, and marks a lost document', async () => {
    const secret = 'cron-secret-0123456789abcdef'
    const { ask, origin, url, asked, workers } = await started({ VERCEL: '1', CRON_SECRET: secret })
    const documents = async () => {
      const { items } = (await (await fetch(`${origin}/documents`)).json()) as { items: Record<string, unknown>[] }
      return items.map(({ filename, status, bytes, error_message }) => [filename, status, bytes, error_message])
    }
    expect(await documents()).toEqual([])
    const sent = await fetch(`${origin}/documents?name=a.pdf`, { method: 'POST', body: '%PDF-1.7 a contract' })
    expect([sent.status, await sent.json()]).toEqual([202, { id: '1', status: 'PENDING' }])
    expect([await documents(), await workers()]).toEqual([[['a.pdf', 'PENDING', null, null]], []])
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    onTestFinished(() => client.end())
    await client.query(
      `insert into documents (filename, status, updated_at) values ('lost.pdf', 'PROCESSING', now() - interval '11 minutes')`,
    )
    const tick = (headers: Record<string, string>) => ask('/api/v1/cron/tick?work=20s', { headers })
    expect((await tick({ authorization: 'Bearer wrong-secret-of-somebody' })).status).toBe(401)
    const ticked = await tick({ authorization: `Bearer ${secret}` })
    expect(await ticked.json()).toMatchObject({ work: { succeeded: 1, empty: true } })
    expect(await documents()).toEqual([
      ['lost.pdf', 'FAILED', null, 'Processing timeout (watchdog)'],
      ['a.pdf', 'DONE', 19, null],
    ])
    expect(await asked('SIGTERM')).toMatchObject({ code: 0, workers: [] })
  })

  test('behind a proxy, answers 401 until a token exists or `open: true` was written', async () => {
    const closed = await started({ ACCESS: 'none' })
    await isClosed(`${closed.origin}/retoma`, closed.url)
    const open = await started({ ACCESS: 'open' })
    await isOpen(`${open.origin}/retoma`, open.url)
  })
})
