/**
 * Measures how often a model is right on documents of yours: `node examples/classifier/measure.mjs FOLDER [MODEL]`. FOLDER has a folder for
 * each category, with the documents of this category. The documents are sent to a running Retoma (RETOMA_URL, default
 * http://127.0.0.1:3000), classified, and reviewed with the true category, so that `GET /projetos/{id}/precisao` has the result.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, parse } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

/** `ask` sends a request to Retoma and returns the JSON; `pause` waits between two looks at the status. */
export async function measure({ ask, pause, folder, model }) {
  const categories = readdirSync(folder, { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(entry => entry.name)
    .sort()
  if (categories.length < 2) throw new Error(`${folder} needs a folder for each category, two at least`)
  const project = await ask('POST', '/projetos', {
    nome: `Medição de ${basename(folder)}`,
    categorias: categories,
    ...(model === undefined ? {} : { modelo: model }),
  })
  const truth = new Map()
  const form = new FormData()
  form.append('projeto_id', project.id)
  for (const category of categories)
    for (const name of filesIn(join(folder, category))) {
      // The number keeps two long names apart: the server cuts a name after 100 characters.
      const { name: stem, ext } = parse(name.normalize('NFC'))
      const number = String(truth.size + 1).padStart(4, '0')
      const code = `${number} ${Array.from(stem).slice(0, 40).join('')}${ext.slice(0, 10)}`
      truth.set(code, category)
      form.append('arquivos', new Blob([readFileSync(join(folder, category, name))]), code)
    }
  const { id, total } = await ask('POST', '/execucoes', form)
  for (;;) {
    const { status, diagnostico } = await ask('GET', `/execucoes/${id}/status-detalhado`)
    if (status === 'CONCLUIDO') break
    if (status !== 'PENDENTE' && status !== 'EM_ANDAMENTO') throw new Error(`${status}: ${diagnostico}`)
    await pause()
  }
  for (const [code, categoria] of truth)
    await ask('PATCH', `/execucoes/${id}/documentos/${encodeURIComponent(code)}`, { categoria })
  const { modelos } = await ask('GET', `/projetos/${project.id}/precisao?execucao_id=${id}`)
  const { custo_usd_exato: cost } = await ask('GET', `/execucoes/${id}`)
  return { id, total, cost, models: modelos }
}

/** The paths of the files, also of the files in folders of the folder. */
const filesIn = folder =>
  readdirSync(folder, { recursive: true })
    .filter(name => statSync(join(folder, name)).isFile())
    .sort()

export function tableOf({ id, total, cost, models }) {
  const line = ({ categoria, revisados, corretos, precisao }) =>
    `  ${categoria.padEnd(30)} ${String(corretos).padStart(5)} de ${String(revisados).padStart(5)}  ${precisao} %`
  return [
    `execução ${id}: ${total} documentos, US$ ${cost}`,
    ...models.flatMap(each => [
      `${each.modelo}: ${each.corretos} de ${each.revisados} certos, ${each.precisao} %`,
      '  por categoria respondida:',
      ...each.categorias.map(line),
    ]),
  ].join('\n')
}

async function main([folder, model]) {
  if (folder === undefined) {
    console.error('usage: node examples/classifier/measure.mjs FOLDER [MODEL]')
    process.exitCode = 2
    return
  }
  const base = process.env.RETOMA_URL ?? 'http://127.0.0.1:3000'
  const token = process.env.RETOMA_TOKEN
  async function ask(method, path, body) {
    const isForm = body instanceof FormData
    const response = await fetch(base + path, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    })
    const answer = await response.json()
    if (!response.ok) throw new Error(answer.error?.message ?? `${method} ${path}: ${response.status}`)
    return answer
  }
  console.log(tableOf(await measure({ ask, pause: () => sleep(1000), folder, model })))
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  await main(process.argv.slice(2))
