/**
 * 200 scanned pages at `retoma up`, over HTTP: text drawn with 300 dots per inch, turned by 2 degrees, with specks and a stamp. Beside the
 * scans an execution of PDFs with text is timed. The words are counted in the questions that the AI got.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createJiti } from 'jiti'
import { final, openClassifier } from '../lib/classifier-server.mjs'
import { grouped, median, round } from '../lib/figures.mjs'
import { until } from '../lib/until.mjs'

export const title =
  '200 scanned pages: 95 % of the words are right, no worker restarts, the memory is bounded, and an execution of texts beside the scans is not slowed by more than its share'

const jiti = createJiti(import.meta.url)
const { goodPdf } = await jiti.import('../../apps/classifier/test/pdfs.ts')
const { linesOf, scannedPdf, scanOf, wordsRight } = await jiti.import('../../apps/pdf-page/test/scans.ts')

const linesOfPage = 20
const megabyte = 1024 * 1024
/** The memory limit of an OCR process, in megabytes (apps/classifier/extract/index.ts). */
const mostMemory = 1024
/** Documents with text have numbers above the scans. */
const above = 10_000

const formOf = (project, files) => {
  const body = new FormData()
  body.append('projeto_id', project.id)
  for (const { name, bytes } of files) body.append('arquivos', new Blob([bytes], { type: 'application/pdf' }), name)
  return body
}

export async function prove({ room, scale, say, hold, atMost, atLeast }) {
  const database = await (await room.server()).database()
  const { ai, house, project, follow } = await openClassifier({ room, database })
  const total = Math.max(Math.round(200 * scale), 4)
  const texts = from =>
    Array.from({ length: 200 }, (_, n) => ({
      name: `texto-${from + n}.pdf`,
      bytes: goodPdf(Array.from({ length: 5 }, (_, page) => `D-${from + n} é um contrato, página ${page + 1}`)),
    }))
  const execute = async files => {
    const began = performance.now()
    const run = follow(await house.ask('/execucoes', { method: 'POST', body: formOf(project, files) }))
    return { run, began }
  }
  const ended = async ({ run, began }) => {
    await until(async () => final.includes((await run.status()).status), { everyMs: 100, seconds: 7200 })
    return (performance.now() - began) / 1000
  }

  let times = 0
  /** The median of three executions of texts: a single one may meet a pause of the machine. */
  const secondsOfTexts = async () => {
    const seconds = []
    for (let n = 0; n < 3; n++) seconds.push(await ended(await execute(texts(above + 1000 * ++times))))
    return median(seconds)
  }
  // The first run also starts the processes.
  await ended(await execute(texts(above)))
  const alone = await secondsOfTexts()

  const scans = Array.from({ length: total }, (_, n) => ({
    name: `${n + 1}.pdf`,
    bytes: scannedPdf([scanOf(linesOf(n + 1, linesOfPage), { page: n + 1 })], `Processo D-${n + 1}, folha 1`),
  }))
  const memory = watchMemory(room.folder)
  const scanned = await execute(scans)
  await until(async () => (await scanned.run.status()).concluidos >= 1, { everyMs: 200, seconds: 600 })
  const beside = await secondsOfTexts()
  const { concluidos: doneMeanwhile } = await scanned.run.status()
  const seconds = await ended(scanned)
  const { concluidos, ocr_segundos: spent } = await scanned.run.status()
  const largest = memory.end()
  hold('the memory of the OCR process was measured', largest > 0)

  const linesBy = new Map(scans.map((_, n) => [`D-${n + 1}`, linesOf(n + 1, linesOfPage)]))
  const words = ai.calls
    .filter(call => linesBy.has(call.document))
    .map(call => wordsRight(linesBy.get(call.document), call.asked.at(-1).content))
  const sum = of => words.reduce((all, each) => all + each[of], 0)
  say(
    `${total} pages with ${grouped(sum('all'))} words in ${round(seconds)} s, ${round(spent / total)} s of processor time each; ` +
      `200 PDFs with text: ${round(alone)} s alone, ${round(beside)} s beside the scans`,
  )
  hold(`pages that were classified: ${concluidos}`, concluidos === total)
  atLeast('words that are right', (100 * sum('right')) / sum('all'), 95, ' %')
  const [worst] = words.map(({ right, all }) => (100 * right) / all).sort((one, other) => one - other)
  say(`the worst page has ${round(worst)} % of its words`)
  const rows = await database.sql(
    `select count(*)::int as n, min(ocr_confianca)::float8 as least from classifier.resultados_classificacao where ocr`,
  )
  hold(
    `documents marked as read by OCR: ${rows[0].n}, with a confidence of at least ${rows[0].least}`,
    rows[0].n === total,
  )
  const lives = await database.sql(`select id from retoma.worker`)
  hold(`lives of the worker: ${lives.length}`, lives.length === 1)
  atMost('memory of the largest OCR process', largest, mostMemory, ' MB')
  hold(`scans were still being read beside the texts: ${doneMeanwhile} of ${total} were done`, doneMeanwhile < total)
  atMost('time of the texts beside the scans, as a multiple of their time alone', beside / alone, 2)
  await house.end()
}

/** The largest resident memory of an OCR process below this folder, in megabytes: OCR alone has this niceness here. */
function watchMemory(folder) {
  let largest = 0
  const look = () => {
    for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
      try {
        if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('"nice":10')) continue
        if (readlinkSync(`/proc/${pid}/cwd`) !== folder) continue
        const [, pages] = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')
        largest = Math.max(largest, (Number(pages) * 4096) / megabyte)
      } catch {
        // The process has just ended.
      }
    }
  }
  const timer = setInterval(look, 200)
  return {
    end() {
      clearInterval(timer)
      return largest
    },
  }
}
