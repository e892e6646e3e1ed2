/** The built program with isolated TypeScript handlers, and its report about a crashed child. */
import { expect, onTestFinished, test } from 'vitest'
import { migratedDatabase } from '../support/database.ts'
import { answer, folderWith, run, start } from './support.ts'

const files = {
  'retoma.config.ts': `import { defineConfig, defineJob } from 'retoma'
const handler = new URL('./extract.ts', import.meta.url)
const isolated = defineJob<{ die?: boolean }>({ kind: 'isolated', handler, isolation: 'process', maxAttempts: 1 })
const inline = defineJob<{ die?: boolean }>({ kind: 'inline', handler, maxAttempts: 1 })
export default defineConfig({ jobs: [isolated, inline] })
`,
  'extract.ts': `import { skip, type JobContext } from 'retoma'
export default async function extract(ctx: JobContext, input: { die?: boolean }): Promise<unknown> {
  if (!input.die) return skip(process.argv[1]!.includes('child') ? 'in a child' : 'inline')
  console.error('the last thing it said')
  process.exit(7)
}
`,
}

test('a handler in TypeScript runs in its process, and jobs show has the evidence of one that died', async () => {
  const { url, drop } = await migratedDatabase()
  onTestFinished(drop)
  const folder = folderWith(files)
  const env = { DATABASE_URL: url }
  const worker = start(['worker', '--json'], { folder, env })
  await worker.said('}\n')
  const ended = (kind: string, input: string) => answer(['jobs', 'enqueue', kind, input, '--wait'], { folder, env })
  expect(await ended('isolated', '{}')).toMatchObject({ state: 'skipped', error: { message: 'in a child' } })
  expect(await ended('inline', '{}')).toMatchObject({ state: 'skipped', error: { message: 'inline' } })

  const { id } = await ended('isolated', '{"die":true}')
  expect(await answer(['jobs', 'show', String(id)], { folder, env })).toMatchObject({
    crashes: 1,
    history: [{ type: 'crash', evidence: { exit_code: 7, stderr: 'the last thing it said\n' } }],
  })
  const shown = await run(['jobs', 'show', String(id)], { folder, env })
  expect(shown.stdout).toContain('its process died: it called process.exit(7)')
  expect(shown.stdout).toMatch(
    /\n {4}exit code 7, memory \d+ MB\n {4}the end of its stderr:\n {6}the last thing it said\n/,
  )
  const portuguese = await run(['jobs', 'show', String(id)], { folder, env: { ...env, LANG: 'pt_BR.UTF-8' } })
  expect(portuguese.stdout).toMatch(/\n {4}código de saída 7, memória \d+ MB\n {4}o fim do stderr:\n/)
  worker.tell('SIGTERM')
  await worker.ended
})
