/**
 * Compiles the code of the pages against this version, so that a page with a removed name, option or answer fails. The values that a
 * reader has already (documents, an AI, the results of earlier blocks) are declared here. Also compares the two languages of the README.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

const brought = `
type Retoma = typeof import('retoma')
declare const answer: import('retoma').ProviderAnswer
declare const askModel: (code: string) => Promise<{ text: string; price: string }>
declare const callProvider: Retoma['callProvider']
declare const createEngine: Retoma['createEngine']
declare const ctx: import('retoma').JobContext
declare const judgeAnswer: Retoma['judgeAnswer']
declare const key: string
declare const retryWhileDatabaseAway: Retoma['retryWhileDatabaseAway']
declare const unwrapVerdict: Retoma['unwrapVerdict']
declare const connector: { getOptions(of: { instanceConnectionName: string }): Promise<{ stream: () => import('node:net').Socket }> }
declare const createApp: typeof import('retoma/http').createApp
declare const defineConfig: Retoma['defineConfig']
declare const defineErrors: Retoma['defineErrors']
declare const doNotRetry: Retoma['doNotRetry']
declare const express: () => { use(path: string, handler: unknown): void }
declare const handlerOf: Retoma['handlerOf']
declare const isRetomaError: Retoma['isRetomaError']
declare const RetomaError: Retoma['RetomaError']
declare const route: typeof import('retoma/http').route
declare const skip: Retoma['skip']
declare const snooze: Retoma['snooze']
declare const toNodeHandler: typeof import('retoma/http').toNodeHandler
declare const z: typeof import('zod').z
declare const defineBatch: Retoma['defineBatch']
declare const defineJob: Retoma['defineJob']
declare const defineGuard: Retoma['defineGuard']
declare const defineSchedule: Retoma['defineSchedule']
declare const minutes: Retoma['minutes']
declare const seconds: Retoma['seconds']
declare const testEngine: typeof import('retoma/testing').testEngine
declare const engine: import('retoma').Engine
declare const classify: import('retoma').Job<{ code: string }, { category: string }>
declare const remind: import('retoma').Job<{ number: string; email: string }>
declare const processDocument: import('retoma').Job<{ id: unknown }>
declare const report: import('retoma').Job<import('retoma').BatchEnd>
declare const removeOldFiles: import('retoma').Job<{ before: string }>
declare const extract: (code: string, signal?: AbortSignal) => Promise<{ pages: string[] }>
declare const ask: (text: { pages: string[] }, signal: AbortSignal) => Promise<string>
declare const classifyPage: (page: string) => Promise<string>
declare const summary: (pages: string[]) => string
declare const documents: AsyncIterable<{ code: string }>
declare const user: string
declare const job: import('retoma').Job<{ code: string }>
declare const run: (ctx: import('retoma').JobContext) => Promise<void>
declare const project: { maxResumes: number; maxRetries: number }
declare const freshToken: () => Promise<string>
declare const pool: import('pg').Pool
declare const stream: AsyncIterable<Uint8Array>
declare const read: import('retoma').Job<{ file: string }>
declare const openOrders: () => Promise<number>
declare const batch: { id: string }
declare const id: string
declare const cause: string
declare let lastPosition: string
declare const classifier: () => import('retoma/http').System
`

const handlerModule = `export default (_: import('retoma').JobContext, { code }: { code: string }) => code.length\n`

/** A block that is only a handler stands in a job. */
const isHandler = (text: string) => /^(?:run|handler): /.test(text)
const whole = (text: string) =>
  `${isHandler(text) ? `defineJob<{ code: string }>({ kind: 'k', ${text.trimEnd()} })` : text}\nexport {}\n`

/** The pages of docs/ and the READMEs of the package and its applications. */
async function pagesWithCode(): Promise<string[]> {
  const docs = await readdir(join(root, 'docs'), { recursive: true })
  const apps = await readdir(join(root, 'apps'))
  return [
    'README.md',
    'README.pt-BR.md',
    ...docs.filter(name => name.endsWith('.md')).map(name => `docs/${name}`),
    ...apps.map(name => `apps/${name}/README.md`).filter(page => existsSync(join(root, page))),
  ]
}

const byFile = (a: { file: string }, b: { file: string }) => a.file.localeCompare(b.file)

async function blocksOf(page: string): Promise<Map<string, string>> {
  const text = await readFile(join(root, page), 'utf8')
  const blocks = [...text.matchAll(/^ *```(ts|js)\n(.*?)^ *```/gms)]
  // Named by page and line, as the compiler will name it.
  const lineOf = (index: number) => text.slice(0, index).split('\n').length
  const nameOf = ({ index, 1: type }: RegExpExecArray) => `${page.replaceAll('/', '-')}-${lineOf(index)}.${type}`
  return new Map(blocks.map(found => [nameOf(found), found[2]!]))
}

/** Blocks that do not compile: compiled with the others, because the compiler reads all of Retoma each time. */
const wrong = new Map([
  ['verb.ts', 'await engine.retryAll(id)'],
  ['option.ts', `defineBatch({ name: 'b', job: classify, stopAfter: { fails: 1 } })`],
  ['handler.ts', `run: async ctx => ctx.stp('a', () => 1)`],
])

/** What the compiler says about them, each as a module of its own beside an installed Retoma. */
async function problemsOf(blocks: ReadonlyMap<string, string>): Promise<{ file: string; problem: string }[]> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'retoma-docs-')))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await mkdir(join(folder, 'blocks'))
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  const source = (path: string) => [join(root, 'src', path)]
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      // Of a block in JavaScript only the syntax is checked.
      allowJs: true,
      paths: {
        retoma: source('index.ts'),
        'retoma/http': source('http/index.ts'),
        'retoma/testing': source('testing/index.ts'),
      },
    },
    include: ['brought.d.ts', 'blocks'],
  }
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  await writeFile(join(folder, 'brought.d.ts'), brought)
  await writeFile(join(folder, 'blocks', 'extract.ts'), handlerModule)
  for (const [name, text] of blocks) await writeFile(join(folder, 'blocks', name), whole(text))
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const output = await new Promise<string>(resolve => {
    execFile(process.execPath, [compiler, '-p', folder], { cwd: folder }, (error, out) =>
      resolve(error === null ? out : out || error.message),
    )
  })
  // A line that goes on with the problem above begins with a space.
  const lines = output.split('\n').filter(line => /^\S/.test(line))
  return lines.map(line => ({ file: /^blocks\/([^(]+)\(/.exec(line)?.[1] ?? '', problem: line })).sort(byFile)
}

test('every block of code in the pages compiles, and a method or an option that is not there is noticed', async () => {
  const pages = await pagesWithCode()
  const blocks = new Map((await Promise.all(pages.map(blocksOf))).flatMap(each => [...each]))
  expect(blocks.size).toBeGreaterThanOrEqual(80)
  const problems = await problemsOf(new Map([...blocks, ...wrong]))
  expect(problems.filter(each => !wrong.has(each.file))).toEqual([])
  // A method or an option that is not there is noticed.
  expect(problems.map(each => [each.file, /'(\w+)'/.exec(each.problem)?.[1]])).toEqual([
    ['handler.ts', 'stp'],
    ['option.ts', 'fails'],
    ['verb.ts', 'retryAll'],
  ])
})

test('both READMEs have the same commands, numbers and sections', async () => {
  const facts = async (page: string, decimal: string) => {
    const text = await readFile(join(root, page), 'utf8')
    return {
      commands: (text.match(/^(?:curl|npm) .*$/gm) ?? []).map(line => line.split(' # ')[0]!.trim()),
      sections: text.match(/^## /gm)?.length,
      numbers: [...text.replace(/```[\s\S]*?```/g, '').matchAll(/\d+(?:[.,]\d+)+/g)]
        .map(([number]) => number)
        // Versions have points in both languages.
        .filter(number => !['0.1.0', '20.12', '0.18', '127.0.0.1'].includes(number))
        .map(number => (decimal === ',' ? number.replace(/[.,]/g, mark => (mark === ',' ? '.' : ',')) : number)),
    }
  }
  expect(await facts('README.pt-BR.md', ',')).toEqual(await facts('README.md', '.'))
})
