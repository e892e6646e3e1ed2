/**
 * A month of a team in one go, over HTTP to `retoma up`: 1,000 files are classified, 50 answers corrected, and the same files run again
 * with another model. No file is sent again, the comparison is right by count, and each cost equals the ledger of the provider.
 */
import { createJiti } from 'jiti'
import { final, openClassifier } from '../lib/classifier-server.mjs'
import { grouped, round } from '../lib/figures.mjs'
import { until } from '../lib/until.mjs'

export const title =
  '1,000 files classified, 50 corrected, run again with another model: no upload, the comparison right by count, costs equal to the ledger'

const jiti = createJiti(import.meta.url)
const { ok } = await jiti.import('../../apps/classifier/test/behaviours.ts')

const numberOf = document => Number(document.slice(2))

export async function prove({ room, scale, say, hold }) {
  const database = await (await room.server()).database()
  const { ai, house, makeProject, follow } = await openClassifier({ room, database })
  const total = Math.round(1000 * scale)
  const corrected = Math.floor(total / 20)
  const project = await makeProject({ modelo: 'modelo/um', revisar_abaixo_de: 0.5, exemplos: 10 })
  const ended = run =>
    until(async () => final.includes((await run.status()).status), { everyMs: 200, seconds: 1200, what: 'the end' })
  const bytes = async () => {
    const [row] = await database.sql(
      'select count(*)::int as n, coalesce(sum(octet_length(bytes)), 0)::bigint as size from retoma.file_chunk',
    )
    return `${row.n} chunks of ${row.size} bytes`
  }

  // The first model is unsure of every twentieth document, and wrong.
  ai.charge(0.0012)
  ai.behave(({ document }) => ok(numberOf(document) % 20 === 0 ? { categoria: 'Outros', confianca: 0.3 } : {}))
  const form = new FormData()
  form.append('projeto_id', project.id)
  for (let n = 1; n <= total; n++) form.append('arquivos', new Blob([`D-${n} é um contrato de locação.`]), `D-${n}.txt`)
  const sent = performance.now()
  const first = follow(await house.ask('/execucoes', { method: 'POST', body: form }))
  await ended(first)
  say(`${grouped(total)} files sent and classified in ${round((performance.now() - sent) / 1000)} s`)
  const { items } = await house.ask(`/execucoes/${first.id}/documentos?revisar=true&limit=500`)
  hold(`documents on the review list: ${items.length}`, items.length === corrected)
  for (const { codigo } of items)
    await house.ask(`/execucoes/${first.id}/documentos/${codigo}`, { method: 'PATCH', body: { categoria: 'Contrato' } })
  await house.ask(`/execucoes/${first.id}/aceitar`, { method: 'POST', body: {} })
  const { modelos } = await house.ask(`/projetos/${project.id}/precisao`)
  const [{ revisados, corretos, precisao }] = modelos
  say(`precision of the first model: ${corretos} of ${revisados}, ${precisao} %`)
  hold('the precision is right', revisados === total && corretos === total - corrected)

  // The second model is right there, and has another opinion of every hundredth.
  const before = await bytes()
  ai.charge(0.0005)
  ai.behave(({ document }) => ok(numberOf(document) % 100 === 7 ? { categoria: 'Petição' } : {}))
  const other = Math.floor((total - 7) / 100) + 1
  const began = performance.now()
  const second = follow(
    await house.ask(`/execucoes/${first.id}/nova`, { method: 'POST', body: { modelo: 'modelo/dois' } }),
  )
  const made = performance.now() - began
  await ended(second)
  say(`run again: made in ${round(made)} ms, ended after ${round((performance.now() - began) / 1000)} s`)
  hold(`no byte was stored again: ${before}`, (await bytes()) === before)
  const ledger = model => ai.calls.filter(call => call.model === model && call.delivered)
  for (const [run, model] of [
    [first, 'modelo/um'],
    [second, 'modelo/dois'],
  ]) {
    const paid = ledger(model).reduce((sum, call) => sum + call.cost, 0)
    const { custo_usd_exato: cost } = await house.ask(`/execucoes/${run.id}`)
    hold(
      `${model}: ${cost} USD for ${ledger(model).length} questions, as in the ledger`,
      cost === paid.toFixed(6) && ledger(model).length === total,
    )
  }
  const compared = await house.ask(`/execucoes/${first.id}/comparar/${second.id}?limit=500`)
  const { comparados, iguais, diferentes, concordancia, confusao, mudancas } = compared
  say(`comparison: ${iguais} equal, ${diferentes} different, ${concordancia} % agree; ${JSON.stringify(confusao)}`)
  hold(`compared: ${grouped(comparados)}`, comparados === total && compared.em_comum === total)
  hold('the changed documents are right by count', diferentes === corrected + other && mudancas.length === diferentes)
  const examples = ledger('modelo/dois')[0].asked[0].content.match(/^\{"texto"/gm)?.length ?? 0
  hold(`corrections shown to the second model as examples: ${examples}`, examples === Math.min(10, corrected))

  await house.ask(`/execucoes/${first.id}/documentos/D-1.txt`)
  const erased = await fetch(`${house.address}/execucoes/${first.id}`, { method: 'DELETE' })
  const kept = await fetch(`${house.address}/execucoes/${second.id}/documentos/D-1.txt/arquivo`)
  hold(
    'the files stay after the first execution is erased',
    erased.status === 204 && (await kept.text()).startsWith('D-1 '),
  )
  await house.end()
}
