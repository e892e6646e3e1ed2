/** The accuracy of the local classifier, measured, and the script with which anyone measures a model of theirs. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { classifyLocally } from './providers/local.ts'
import { corpus, corpusCategories, type Labelled } from './test/corpus.ts'
import { realDoor } from './test/real-door.ts'

test('the page gives the accuracy of the local classifier on sixty documents', () => {
  const page = readFileSync(new URL('../../docs/classificador.md', import.meta.url), 'utf8')
  const right = (kind: Labelled['kind']) => {
    const of = corpus.filter(each => each.kind === kind)
    const hits = of.filter(each => classifyLocally(each.text, corpusCategories).category === each.category)
    return `${hits.length} de ${of.length}`
  }
  expect(corpus).toHaveLength(60)
  expect(page).toContain(`| dizem o nome da sua categoria | ${right('named')} |`)
  expect(page).toContain(`| não dizem o nome de nenhuma | ${right('unnamed')} |`)
  expect(page).toContain(`| dizem o nome de outra | ${right('misleading')} |`)
})

test('the script sends a folder, reviews every document with the truth, and prints the precision', async () => {
  const script = new URL('../../examples/classifier/measure.mjs', import.meta.url)
  const { measure, tableOf } = await import(script.href)
  const { fetch, run } = await realDoor({ key: undefined })
  const folder = mkdtempSync(join(tmpdir(), 'measure-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  // Every second document is in a folder of its own.
  for (const category of corpusCategories) mkdirSync(join(folder, category, 'mais'), { recursive: true })
  for (const [n, { text, category }] of corpus.entries())
    writeFileSync(join(folder, category, n % 2 === 0 ? '.' : 'mais', `${n}.txt`), text)
  const found = await measure({
    async ask(method: string, path: string, body?: unknown) {
      const isForm = body instanceof FormData
      const headers: Record<string, string> = body === undefined || isForm ? {} : { 'content-type': 'application/json' }
      const sent = body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }
      return (await fetch(new Request(`http://127.0.0.1:3000${path}`, { method, headers, ...sent }))).json()
    },
    pause: run,
    folder,
  })
  expect(found).toMatchObject({
    total: 60,
    cost: '0.000000',
    models: [{ modelo: 'local', revisados: 60, corretos: 33 }],
  })
  expect(tableOf(found)).toContain('local: 33 de 60 certos, 55 %')
})
