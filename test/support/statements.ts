/**
 * Every statement there is: of the store, and of the applications, whose SQL are plain texts. Most are seen by their own module
 * alone: `?whole` shows them (vitest.config.ts). So one that is written tomorrow is checked without being listed anywhere.
 */
import { existsSync, readdirSync } from 'node:fs'
import { basename } from 'node:path'
import type { Statement } from '../../src/database/db.ts'

const isStatement = (value: unknown): value is Statement =>
  typeof (value as Statement | null)?.name === 'string' && typeof (value as Statement).text === 'string'

const isSql = (value: unknown): value is string =>
  typeof value === 'string' && /^\s*(with|select|insert|update|delete)\s/.test(value)

const root = new URL('../../', import.meta.url)

/** Every file of src/ that may hold SQL, as the architecture test has it: paths from the top of the repository. */
export const sqlFiles: readonly string[] = readdirSync(new URL('src/', root), { recursive: true, encoding: 'utf8' })
  .map(file => `src/${file}`)
  .filter(file => /^src\/(?:database\/[^/]+|.*\/sql\/[^/]+|.*\.sql)\.ts$/.test(file) && !file.endsWith('.test.ts'))
  .sort()

const filesIn = (folder: string): string[] =>
  readdirSync(new URL(folder, root))
    .filter(file => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map(file => `${folder}${file}`)

async function shown(files: readonly string[]): Promise<{ file: string; name: string; value: unknown }[]> {
  const modules = files.map(async file => {
    const module: Record<string, unknown> = await import(`${new URL(file, root).pathname}?whole`)
    return Object.entries(module).map(([name, value]) => ({ file: basename(file, '.ts'), name, value }))
  })
  return (await Promise.all(modules)).flat()
}

/** The store files of an application and of its parts. */
const storesOf = (app: string): string[] =>
  ['', ...readdirSync(new URL(`apps/${app}/`, root)).map(part => `${part}/`)]
    .map(part => `apps/${app}/${part}store/`)
    .filter(folder => !/\/(?:dist|node_modules)\//.test(folder) && existsSync(new URL(folder, root)))

async function statementsOf(app: string): Promise<Statement[]> {
  const found = await shown(storesOf(app).flatMap(filesIn))
  return found
    .filter(({ value }) => isSql(value))
    .map(({ file, name, value }) => ({ name: `${app} ${file}.${name}`, text: value as string }))
}

export async function everyStatement(): Promise<Statement[]> {
  const ours = (await shown(sqlFiles)).flatMap(({ value }) =>
    typeof value === 'object' && value !== null ? [value, ...Object.values(value)] : [],
  )
  const theirs = (await Promise.all(['classifier', 'quotes', 'documents', 'snaps', 'planner'].map(statementsOf))).flat()
  const byName = new Map([...ours.filter(isStatement), ...theirs].map(each => [each.name, each]))
  return [...byName.values()]
}
