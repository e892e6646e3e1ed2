/**
 * Defines the errors of the planner: of its routes, and of its jobs, whose sentence is the `error_message`. docs/errors.md lists the errors
 * (`npm run docs`).
 *
 * Invariant: a code never changes its meaning once released; sentences may get better.
 */
import { defineErrors } from 'retoma'

export const errors = defineErrors({
  // generate-schedule
  schedule_infeasible: {
    status: 422,
    en: 'no schedule keeps all rules. These collide: {conflict}',
    pt: 'nenhuma escala cumpre todas as regras. Colidem: {conflict}',
  },
  schedule_no_time: {
    status: 422,
    en: 'no schedule was found within {seconds} s; allow more time (time_limit_seconds) or fewer days',
    pt: 'nenhuma escala foi encontrada em {seconds} s; dê mais tempo (time_limit_seconds) ou menos dias',
  },
  schedule_too_large: {
    status: 413,
    en: 'the schedule has more than {most} {what}; split it into shorter periods or smaller teams',
    pt: 'a escala tem mais de {most} {what}; divida em períodos ou equipes menores',
  },

  // extract-demand and generate-thumbnail
  planner_file_too_large: {
    status: 413,
    en: '{name} has more than {megabytes} MB',
    pt: '{name} tem mais de {megabytes} MB',
  },
  planner_file_type: {
    status: 415,
    en: 'the file {name} cannot be read: {likeness}; send {wanted}',
    pt: 'o arquivo {name} não pode ser lido: {likeness}; envie {wanted}',
  },
  planner_file_empty: { status: 422, en: 'the file is empty', pt: 'o arquivo está vazio' },
  planner_file_gone: {
    status: 410,
    en: 'the file of the job is not there any more',
    pt: 'o arquivo do job não existe mais',
  },
  planner_file_timeout: {
    status: 422,
    en: 'the file could not be read within {seconds} s',
    pt: 'o arquivo não pôde ser lido em {seconds} s',
  },
  planner_file_memory: {
    status: 422,
    en: 'the file needs more than {megabytes} MB of memory',
    pt: 'o arquivo precisa de mais de {megabytes} MB de memória',
  },
  planner_file_crash: {
    status: 422,
    en: 'the file crashed the process that read it: {how}',
    pt: 'o arquivo derrubou o processo que o lia: {how}',
  },
  planner_file_corrupt: {
    status: 422,
    en: 'the file is damaged: {problem}',
    pt: 'o arquivo está danificado: {problem}',
  },

  // extract-demand
  table_header: {
    status: 422,
    en: 'the header does not fit: {problem}. Found: {columns}',
    pt: 'o cabeçalho não serve: {problem}. Encontrado: {columns}',
  },
  table_without_visits: {
    status: 422,
    en: 'no row has a usable visit: {why}',
    pt: 'nenhuma linha tem uma visita que sirva: {why}',
  },
  table_too_large: {
    status: 413,
    en: 'the table is too large: {problem}',
    pt: 'a tabela é grande demais: {problem}',
  },
  workbook_macros: {
    status: 415,
    en: 'the workbook has macros; save it as .xlsx without macros, or as CSV',
    pt: 'a planilha tem macros; salve como .xlsx sem macros, ou como CSV',
  },
  workbook_old: {
    status: 415,
    en: 'the workbook is in the old format .xls or has a password; save it as .xlsx without a password, or as CSV',
    pt: 'a planilha está no formato antigo .xls ou tem senha; salve como .xlsx sem senha, ou como CSV',
  },
  workbook_formulas: {
    status: 422,
    en: 'cell {cell} has a formula; paste the column as values and send the file again',
    pt: 'a célula {cell} tem uma fórmula; cole a coluna como valores e envie o arquivo de novo',
  },
  workbook_bomb: {
    status: 413,
    en: 'the workbook is {megabytes} MB unpacked, at most {most} MB are read',
    pt: 'a planilha descompactada tem {megabytes} MB, no máximo {most} MB são lidos',
  },

  // generate-thumbnail
  thumbnail_image_too_large: {
    status: 413,
    en: 'the image is {width} x {height} pixels, at most {most} million pixels are read',
    pt: 'a imagem tem {width} x {height} pixels, no máximo {most} milhões de pixels são lidos',
  },
  thumbnail_pdf_encrypted: { status: 422, en: 'the PDF has a password', pt: 'o PDF tem senha' },
  thumbnail_pdf_without_pages: { status: 422, en: 'the PDF has no pages', pt: 'o PDF não tem páginas' },

  // Routes
  planner_result_missing: {
    status: 409,
    en: 'job {id} is {status} of {kind}; it has no {what}',
    pt: 'o job {id} está {status}, de {kind}; não tem {what}',
  },
})
