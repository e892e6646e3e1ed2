/**
 * Runs the curl commands of the pages, in the order of the pages, with the reader's shell and curl, against the built program in
 * a folder of its own, without any key. The server must answer each command.
 */
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { folderWith, start } from '../cli/support.ts'
import { migratedDatabase } from '../support/database.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** A GIF. */
const onePixel = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'

/** `npm start`, with what is set up already, and whatever port is free. */
async function started() {
  const database = await migratedDatabase()
  onTestFinished(database.drop)
  // A curl that is refused fails.
  const folder = folderWith({ '.curlrc': 'fail-with-body\nsilent\n' }, 'file')
  // The reader's photo.
  writeFileSync(join(folder, 'foto.jpg'), Buffer.from(onePixel, 'base64'))
  const env = { DATABASE_URL: database.url, PORT: '0', LANG: 'pt_BR.UTF-8' }
  const program = start(['up', '--no-supervise', '--config', join(root, 'retoma.config.ts')], { folder, env })
  const said = await program.said('Ctrl-C')
  onTestFinished(async () => {
    program.tell('SIGTERM')
    await program.ended
  })
  return { folder, said, address: /http:\/\/[\d.:]+/.exec(said)![0] }
}

const before = ['INIT', 'AI_ANALYSIS_START', 'AI_ANALYSIS_DONE']
const after = ['FINALIZATION', 'COMPLETED']
const checkpoints: Record<string, string[]> = {
  product: [...before, 'SHOPPING_SEARCH_START', 'SHOPPING_SEARCH_DONE', 'PRICE_EXTRACTION_START', 'PRICE_EXTRACTION_PROGRESS', 'PRICE_EXTRACTION_DONE', ...after],
  vehicle: [...before, 'FIPE_SEARCH', ...after],
} // biome-ignore format: a kind for each line

/**
 * The stream of a quote names checkpoints in order up to the last, and the quote has all checkpoints and its prices. The stream may merge
 * checkpoints that pass within a quarter of a second.
 */
async function expectCheckpoints(url: string, stream: string): Promise<void> {
  const told = [...stream.matchAll(/"processing_checkpoint":"(\w+)"/g)].map(([, name]) => name)
  const quote = (await (await fetch(url)).json()) as {
    kind: string
    prices: unknown[]
    resume_data: { checkpoints: { checkpoint: string }[] }
  }
  expect(told.filter((name, index) => name !== told[index - 1])).toEqual(
    checkpoints[quote.kind]!.filter(name => told.includes(name)),
  )
  expect(told.at(-1)).toBe('COMPLETED')
  expect([...quote.resume_data.checkpoints.map(each => each.checkpoint), 'COMPLETED']).toEqual(checkpoints[quote.kind])
  expect(quote.prices.length).toBeGreaterThan(0)
}

/** The pages of a language share a server. */
const languages = [
  { language: 'English', pages: ['docs/try-the-classifier.md', 'docs/http-api.md', 'README.md'], least: 15 },
  {
    language: 'Portuguese',
    pages: [
      'docs/experimente-o-classificador.md',
      'README.pt-BR.md',
      'docs/classificador.md',
      'docs/cotacoes.md',
      'docs/snaps.md',
      'docs/planejador.md',
      'docs/open-finance.md',
    ],
    least: 40,
  },
]

test.each(languages)('$language: every curl is answered, and the CSV comes out', async ({ pages, least }) => {
  const { folder, said, address } = await started()
  expect(said).toContain('\nsimulado: openrouter, anthropic, serpapi, fipe, pluggy\n')
  const lines = pages.flatMap(page => read(page).match(/^(?:curl|printf|node examples\/) ?.*$/gm) ?? [])
  expect(lines.length).toBeGreaterThanOrEqual(least)
  let job = ''
  for (const line of lines) {
    const typed = line
      .replaceAll('http://127.0.0.1:3000', address)
      .replace('/jobs/42/', `/jobs/${job}/`)
      .replace('node examples/', `node ${root}examples/`)
    const { stdout } = await promisify(execFile)('sh', ['-c', typed], {
      cwd: folder,
      env: { ...process.env, HOME: folder },
    })
    if (line.includes('"kind"') && job === '') job = JSON.parse(stdout).id
    const [, quote] = /^curl -N .*\/api\/quotes\/(\d+)\/events/.exec(line) ?? []
    if (quote !== undefined) await expectCheckpoints(`${address}/api/quotes/${quote}`, stdout)
  }
  const rows = readFileSync(join(folder, 'resultados.csv'), 'utf8').trim().split('\r\n')
  expect(rows).toHaveLength(11)
  const expected = { contrato: 'Contrato', 'nota-fiscal': 'Nota fiscal', peticao: 'Petição' }
  for (const row of rows.slice(1)) {
    const [, name] = /^"\d\d-([\w-]+)\.pdf";/.exec(row) as unknown as [string, keyof typeof expected]
    expect(row.split(';')).toEqual(expect.arrayContaining([`"${expected[name]}"`, '"CONCLUIDO"']))
  }
})
