/**
 * Defines the errors of the documents: the errors of the routes, and the reasons why a document is FAILED. docs/errors.md lists the errors
 * (`npm run docs`).
 *
 * Invariant: a code never changes its meaning once released; sentences may get better.
 */
import { defineErrors } from 'retoma'
import { openFinanceErrors } from './open-finance/errors.ts'

const documentErrors = defineErrors({
  // Uploads
  upload_too_large: {
    status: 413,
    en: 'the file "{name}" is larger than {megabytes} MB',
    pt: 'o arquivo "{name}" tem mais de {megabytes} MB',
  },
  upload_not_pdf: {
    status: 415,
    en: 'the file "{name}" is no PDF: {likeness}',
    pt: 'o arquivo "{name}" não é um PDF: {likeness}',
  },
  // Attempts
  document_erased: {
    status: 410,
    en: 'the document was erased meanwhile',
    pt: 'o documento foi apagado neste meio-tempo',
  },
  document_over: {
    status: 409,
    en: 'the document is {status}; this attempt came too late and changed nothing',
    pt: 'o documento está em {status}; esta tentativa chegou tarde e não mudou nada',
  },
  document_attempt: {
    status: 500,
    retryable: true,
    en: 'the document could not be processed: {problem}',
    pt: 'o documento não pôde ser processado: {problem}',
  },
  document_job_ended: {
    status: 500,
    en: 'the processing ended without a result',
    pt: 'o processamento terminou sem resultado',
  },
  document_worker_lost: {
    status: 500,
    en: 'the processing ended several times together with its process; try again later',
    pt: 'o processamento terminou várias vezes junto com o seu processo; tente de novo mais tarde',
  },
  document_overlong: {
    status: 500,
    en: 'the processing took longer than its time limit',
    pt: 'o processamento passou do tempo limite',
  },
  document_file_missing: {
    status: 500,
    en: 'the file of the document is missing: send the document again',
    pt: 'o arquivo do documento não existe mais: envie o documento de novo',
  },
  // Problems of a file
  document_truncated: {
    status: 422,
    en: 'the PDF is incomplete: the end of the file is missing',
    pt: 'o PDF está incompleto: falta o fim do arquivo',
  },
  document_damaged: {
    status: 422,
    en: 'the PDF is damaged and cannot be read: {problem}',
    pt: 'o PDF está danificado e não pode ser lido: {problem}',
  },
  document_encrypted: {
    status: 422,
    en: 'the PDF is protected by a password',
    pt: 'o PDF está protegido por senha',
  },
  document_without_pages: {
    status: 422,
    en: 'the PDF has no pages',
    pt: 'o PDF não tem páginas',
  },
  document_timeout: {
    status: 422,
    en: 'the PDF could not be read within {seconds} s',
    pt: 'o PDF não pôde ser lido em {seconds} s',
  },
  document_memory: {
    status: 422,
    en: 'reading the PDF takes more than {megabytes} MB of memory',
    pt: 'a leitura do PDF passou de {megabytes} MB de memória',
  },
  document_crash: {
    status: 422,
    en: 'reading the PDF ended the process that read it: {how}',
    pt: 'a leitura do PDF derrubou o processo que o lia: {how}',
  },
})

export const errors = { ...documentErrors, ...openFinanceErrors }
