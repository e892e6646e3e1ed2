/**
 * Extracts the demand of a table of visits (CSV or XLSX). A process with limits reads the file.
 *
 * Invariant: the job ends within its limits for every file, and no file crashes the worker.
 */
import { type JobContext, type LocalizedText, localized, megabytes, minutes, RetomaError } from 'retoma'
import { errors } from '../errors.ts'
import { failed } from '../failed.ts'
import type { Upload } from '../jobs.ts'
import { readAway } from '../read-away.ts'
import type { Demand } from './count.ts'
import type { ReadDemand } from './read.ts'
import type { DropReason, Trouble } from './table.ts'

// Only tests run this file from the TypeScript source, which Node 20 cannot read; the child then runs the built file.
const reader = new URL(import.meta.url.endsWith('.ts') ? '../dist/demand/read.js' : './read.js', import.meta.url)
/** 500,000 rows take some seconds. */
const limits = { timeout: minutes(2), memory: megabytes(512), maxBytes: megabytes(1) }

const reasons: Readonly<Record<DropReason, LocalizedText>> = {
  no_date: localized('no date', 'sem data'),
  bad_date: localized('a date that does not exist or is not understood', 'data que não existe ou não se entende'),
  no_hour: localized('no hour', 'sem hora'),
  bad_hour: localized('an hour that is not understood', 'hora que não se entende'),
  bad_count: localized('a count that is not understood', 'quantidade que não se entende'),
  negative_count: localized('a negative count', 'quantidade negativa'),
}

export interface ExtractedDemand extends Omit<Demand, 'dropped'> {
  dropped: { rows: number; reasons: { reason: DropReason; sentence: string; rows: number; example: string }[] }
}

export async function extractDemand(ctx: JobContext, upload: Upload): Promise<ExtractedDemand> {
  const path = await ctx.files.path(upload.file)
  if (path === null) throw failed(new RetomaError(errors.planner_file_gone, {}))
  const read = await readAway<ReadDemand>(ctx, 'demand', reader, { path }, limits)
  if ('trouble' in read) throw failed(troubleOf(read, upload.name))
  const { dropped, ...demand } = read.demand
  return {
    ...demand,
    dropped: {
      rows: dropped.rows,
      reasons: dropped.reasons.map(each => ({ ...each, sentence: reasons[each.reason].pt })),
    },
  }
}

const likenesses = {
  binary: { en: 'it is no text and no workbook', pt: 'não é texto nem planilha' },
  pdf: { en: 'it is a PDF', pt: 'é um PDF' },
  image: { en: 'it is an image', pt: 'é uma imagem' },
  archive: { en: 'it is an archive', pt: 'é um arquivo compactado' },
  binary_workbook: { en: 'it is a binary workbook (.xlsb)', pt: 'é uma planilha binária (.xlsb)' },
  document: { en: 'it is another kind of Office document', pt: 'é outro tipo de documento do Office' },
} as const
const wanted = { en: 'CSV or .xlsx', pt: 'CSV ou .xlsx' }

/** `name`: the name of the file. */
function troubleOf(trouble: Trouble, name: string): RetomaError {
  switch (trouble.trouble) {
    case 'empty':
      return new RetomaError(errors.planner_file_empty, {})
    case 'macros':
      return new RetomaError(errors.workbook_macros, {})
    case 'old_workbook':
      return new RetomaError(errors.workbook_old, {})
    case 'type':
      return new RetomaError(errors.planner_file_type, { name, likeness: likenesses[trouble.likeness], wanted })
    case 'corrupt':
      return new RetomaError(errors.planner_file_corrupt, { problem: trouble.problem })
    case 'too_large':
      return new RetomaError(errors.table_too_large, { problem: { en: trouble.en, pt: trouble.pt } })
    case 'bomb':
      return new RetomaError(errors.workbook_bomb, { megabytes: trouble.megabytes, most: trouble.most })
    case 'formula':
      return new RetomaError(errors.workbook_formulas, { cell: trouble.cell })
    case 'header': {
      const columns = trouble.columns.map(text => `"${text}"`).join(', ') || '-'
      return new RetomaError(errors.table_header, { problem: { en: trouble.en, pt: trouble.pt }, columns })
    }
    case 'no_visits':
      return new RetomaError(errors.table_without_visits, { why: whyNoVisits(trouble) })
  }
}

/** Every reason with an example: the number of the row and the text. */
function whyNoVisits(trouble: Extract<Trouble, { trouble: 'no_visits' }>): LocalizedText {
  const { dropped } = trouble
  if (dropped === 0) return localized('there is no row below the header', 'não há linha abaixo do cabeçalho')
  const list = (language: 'en' | 'pt') =>
    trouble.reasons.map(({ reason, example }) => `${reasons[reason][language]} (${example})`).join('; ')
  return localized(`dropped rows: ${dropped}; ${list('en')}`, `linhas descartadas: ${dropped}; ${list('pt')}`)
}
