/**
 * The document classifier under `retoma up`, with 2,000 documents over HTTP and a misbehaving provider. The ledger of the
 * provider shows the paid calls.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createJiti } from 'jiti'
import { final, openClassifier as open } from '../lib/classifier-server.mjs'
import { grouped, round } from '../lib/figures.mjs'
import { comesAbout, until } from '../lib/until.mjs'

export const title =
  '2,000 documents: under a random storm, all killed at 80, without credit from the 50th call on, and 200 PDFs among 50 hostile ones; nothing kept is bought again'

const jiti = createJiti(import.meta.url)
const { hostilePdfs } = await jiti.import('../../apps/classifier/test/hostile.ts')
const { goodPdf } = await jiti.import('../../apps/classifier/test/pdfs.ts')
const { from, late, ok, refuses, storm } = await jiti.import('../../apps/classifier/test/behaviours.ts')

export async function prove(given) {
  const server = await given.room.server()
  for (const part of [underStorm, killed, withoutCredit, amongHostile])
    await part({ ...given, database: await server.database() })
}

async function underStorm(given) {
  const { say, hold, scale } = given
  const { ai, house, execute } = await open(given)
  ai.behave(storm(7, 2000))
  const began = performance.now()
  const run = await execute(Math.round(2000 * scale))
  let worst = 0
  const statuses = new Set()
  const ended = await comesAbout(
    async () => {
      const { status, segundos_sem_progresso: still } = await run.status()
      worst = Math.max(worst, still ?? 0)
      statuses.add(status)
      return final.includes(status)
    },
    { everyMs: 1000, seconds: 3600 },
  )
  const { status, concluidos, erros, pulados, total } = await run.status()
  say(
    `storm: ${grouped(total)} documents in ${round((performance.now() - began) / 1000)} s: ${grouped(concluidos)} classified, ` +
      `${erros} failed; ${grouped(ai.calls.length)} calls, never more than ${round(worst)} s without progress`,
  )
  hold(`it ended: ${status}, and was never TRAVADO`, ended && status === 'CONCLUIDO' && !statuses.has('TRAVADO'))
  hold(`every document is final: ${concluidos + erros + pulados}`, concluidos + erros + pulados === total)
  const twice = ai.boughtTwiceAfterDelivery()
  hold(`documents bought again after their answer came: ${twice.length}`, twice.length === 0)
  const { documentos } = await house.ask(`/execucoes/${run.id}/erros?limit=500`)
  const bare = documentos.filter(each => !(each.erro_mensagem && each.erro_stack && each.ultimo_erro_em))
  hold(`errors without message, stack or time: ${bare.length} of ${documentos.length}`, bare.length === 0)
  await house.end()
}

async function killed(given) {
  const { say, hold, atMost, scale, database } = given
  const { ai, house, execute, start } = await open(given)
  ai.behave(late(150))
  const total = Math.round(2000 * scale)
  const run = await execute(total)
  await until(async () => (await run.status()).concluidos >= 80 * Math.min(1, scale * 10), { everyMs: 5 })
  house.kill()
  await until(() => ai.inFlight() === 0)
  const before = ai.calls.length
  const kept = await database.sql(
    `select substring(d.text from 'D-\\d+') as document
     from retoma.checkpoint c join classifier.document d on d.job_id = c.job_id where c.name = 'answer 1'`,
  )
  const [{ running }] = await database.sql(`select count(*)::int as running from retoma.job where state = 'running'`)
  const began = performance.now()
  const again = await start()
  await until(async () => final.includes((await run.status(again)).status), { everyMs: 500, seconds: 1200 })
  const { concluidos } = await run.status(again)
  say(
    `killed at ${kept.length} answers, ${running} in flight; the rest ended ${round((performance.now() - began) / 1000)} s after the start`,
  )
  hold(`all were classified: ${grouped(concluidos)}`, concluidos === total)
  const anew = new Set(ai.calls.slice(before).map(call => call.document))
  const twice = kept.filter(({ document }) => anew.has(document))
  hold(`kept answers that were bought again: ${twice.length}`, twice.length === 0)
  atMost('calls beyond one for each document', ai.calls.length - total, running)
  await again.end()
}

async function withoutCredit(given) {
  const { say, hold, atMost, scale, database } = given
  const { ai, house, execute } = await open(given)
  ai.behave(from(50, refuses(402), late(50)))
  const total = Math.round(2000 * scale)
  const run = await execute(total)
  await ai.called(50)
  const began = performance.now()
  await until(async () => (await run.status()).status === 'PAUSADO', { everyMs: 20, seconds: 60 })
  const seconds = (performance.now() - began) / 1000
  await sleep(3000)
  const calls = ai.calls.length
  const { erros, diagnostico } = await run.status()
  say(`without credit: ${diagnostico}`)
  atMost('from the first 402 to PAUSADO', seconds, 5, ' s')
  atMost('further calls', calls - 50, 20)
  hold(`documents that failed: ${erros}`, erros === 0)
  ai.behave(ok())
  await house.ask(`/execucoes/${run.id}/continuar`, { method: 'POST' })
  await until(async () => final.includes((await run.status()).status), { everyMs: 500, seconds: 1200 })
  const rows = await database.sql(
    `select status, tentativas, count(*)::int as n from classifier.resultados_classificacao group by 1, 2`,
  )
  hold(
    `after continuar all ended at their first try: ${JSON.stringify(rows)}`,
    rows.length === 1 && rows[0].status === 'CONCLUIDO' && rows[0].tentativas === 1 && rows[0].n === total,
  )
  await house.end()
}

async function amongHostile(given) {
  const { say, hold, scale, database } = given
  const { house, project, follow } = await open(given)
  const total = Math.round(200 * scale)
  const good = Array.from({ length: total }, (_, n) => ({
    name: `bom-${n + 1}.pdf`,
    bytes: goodPdf(`D-${n + 1} é um contrato de locação.`),
  }))
  const bad = hostilePdfs()
  const body = new FormData()
  body.append('projeto_id', project.id)
  for (const { name, bytes } of [...good.slice(0, total / 2), ...bad, ...good.slice(total / 2)])
    body.append('arquivos', new Blob([bytes], { type: 'application/pdf' }), name)
  const began = performance.now()
  const run = follow(await house.ask('/execucoes', { method: 'POST', body }))
  await until(async () => final.includes((await run.status()).status), { everyMs: 500, seconds: 3600 })
  say(`${total} good PDFs and ${bad.length} hostile ones ended in ${round((performance.now() - began) / 1000)} s`)
  const rows = await database.sql(`select codigo, status, erro_mensagem from classifier.resultados_classificacao`)
  const read = rows.filter(({ codigo, status }) => codigo.startsWith('bom-') && status === 'CONCLUIDO')
  const refused = rows.filter(({ status, erro_mensagem }) => /^(ERRO|PULADO)$/.test(status) && erro_mensagem)
  hold(`good ones that were classified: ${read.length}`, read.length === total)
  hold(`hostile ones that ended with a reason: ${refused.length}`, refused.length === bad.length)
  const lives = await database.sql(`select id from retoma.worker`)
  hold(`lives of the worker: ${lives.length}`, lives.length === 1)
  await house.end()
}
