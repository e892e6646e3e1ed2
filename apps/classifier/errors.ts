/**
 * Defines the errors of the classifier: the errors of the routes and the errors of documents. docs/errors.md lists the errors (`npm run
 * docs`).
 *
 * Invariant: a code never changes its meaning once released; sentences may get better.
 */
import { defineErrors } from 'retoma'

const general = defineErrors({
  // Executions
  execution_paused: {
    status: 409,
    en: 'execution {id} is paused; press continuar, then it goes on',
    pt: 'a execução {id} está pausada; use continuar para que ela siga',
  },
  execution_state: {
    status: 409,
    en: 'execution {id} is {status}; {action} is not possible then',
    pt: 'a execução {id} está em {status}; {action} não é possível nesse estado',
  },
  too_many_documents: {
    status: 413,
    en: 'an execution has at most {most} documents; send the rest in another one',
    pt: 'uma execução tem no máximo {most} documentos; envie os demais em outra',
  },
  document_too_large: {
    status: 413,
    en: 'the document "{name}" is larger than {megabytes} MB',
    pt: 'o documento "{name}" tem mais de {megabytes} MB',
  },
  archives_too_large: {
    status: 413,
    en: 'the ZIP files of a request unpack to at most {megabytes} MB together; send the rest in another execution',
    pt: 'os ZIPs de um envio têm no máximo {megabytes} MB descompactados, somados; envie os demais em outra execução',
  },
  no_documents_chosen: {
    status: 409,
    en: 'no document of execution {id} fits the choice; nothing is run again',
    pt: 'nenhum documento da execução {id} cabe na escolha; nada roda de novo',
  },
  document_state: {
    status: 409,
    en: 'document "{codigo}" is {status}; {action} is not possible then',
    pt: 'o documento "{codigo}" está em {status}; {action} não é possível nesse estado',
  },
  webhook_refused: {
    status: 422,
    en: 'the webhook of execution {id} leads to a link-local address; no message is sent there',
    pt: 'o webhook da execução {id} leva a um endereço link-local; nenhuma mensagem é enviada para lá',
  },
  file_replaced: {
    status: 409,
    en: 'the file of the document was replaced while the AI answered; the AI reads the new file next',
    pt: 'o arquivo do documento foi trocado enquanto a IA respondia; a pergunta é feita com o novo',
  },
  // Answers of the AI, and outcomes of a document
  ai_model: {
    status: 502,
    en: '{provider} answered {status}: {words}',
    pt: '{provider} respondeu {status}: {words}',
  },
  document_refused: {
    status: 422,
    en: '{provider} refuses this document (status {status}): {words}',
    pt: '{provider} recusa este documento (status {status}): {words}',
  },
  category_unknown: {
    status: 422,
    en: 'the AI answered "{category}", which is not a category of this project',
    pt: 'a IA respondeu "{category}", que não é uma categoria deste projeto',
  },
  cost_limit: {
    status: 409,
    en: 'the next document would pass the limit of {limit} USD ({cost} USD spent, {needed} USD with what is being asked and the next one)',
    pt: 'o próximo documento passaria do limite de US$ {limit} (US$ {cost} gastos; seriam US$ {needed} com o que está em andamento e ele)',
  },
  document_gone: {
    status: 410,
    en: 'document {id} is not there any more',
    pt: 'o documento {id} não existe mais',
  },
})

/** Problems of a file: another attempt with the same bytes cannot help. */
export const fileErrors = defineErrors({
  not_a_pdf: {
    status: 422,
    en: 'the file is no PDF: {likeness}',
    pt: 'o arquivo não é um PDF: {likeness}',
  },
  pdf_truncated: {
    status: 422,
    en: 'the PDF is incomplete: the end of the file is missing',
    pt: 'o PDF está incompleto: falta o fim do arquivo',
  },
  pdf_corrupt: {
    status: 422,
    en: 'the PDF is damaged and cannot be read: {problem}',
    pt: 'o PDF está danificado e não pode ser lido: {problem}',
  },
  pdf_encrypted: {
    status: 422,
    en: 'the PDF is protected by a password',
    pt: 'o PDF está protegido por senha',
  },
  pdf_without_pages: {
    status: 422,
    en: 'the PDF has no pages',
    pt: 'o PDF não tem páginas',
  },
  pdf_timeout: {
    status: 422,
    en: 'the PDF could not be read within {seconds} s',
    pt: 'o PDF não pôde ser lido em {seconds} s',
  },
  pdf_memory: {
    status: 422,
    en: 'reading the PDF takes more than {megabytes} MB of memory',
    pt: 'a leitura do PDF passou de {megabytes} MB de memória',
  },
  pdf_crash: {
    status: 422,
    en: 'reading the PDF ended the process that read it: {how}',
    pt: 'a leitura do PDF derrubou o processo que o lia: {how}',
  },
  file_timeout: {
    status: 422,
    en: 'the file could not be read within {seconds} s',
    pt: 'o arquivo não pôde ser lido em {seconds} s',
  },
  file_memory: {
    status: 422,
    en: 'reading the file takes more than {megabytes} MB of memory',
    pt: 'a leitura do arquivo passou de {megabytes} MB de memória',
  },
  file_crash: {
    status: 422,
    en: 'reading the file ended the process that read it: {how}',
    pt: 'a leitura do arquivo derrubou o processo que o lia: {how}',
  },
  file_encrypted: {
    status: 422,
    en: 'the file is protected by a password',
    pt: 'o arquivo está protegido por senha',
  },
  file_bomb: {
    status: 422,
    en: 'the file unpacks to {megabytes} MB, and {most} MB is the limit',
    pt: 'o arquivo descompactado teria {megabytes} MB, e o limite é {most} MB',
  },
  image_too_large: {
    status: 422,
    en: 'the image has {megapixels} million pixels, and 100 million is the limit',
    pt: 'a imagem tem {megapixels} milhões de pixels, e o limite é 100 milhões',
  },
  file_beyond_limits: {
    status: 422,
    en: 'the file is too large to be read: {problem}',
    pt: 'o arquivo é grande demais para ser lido: {problem}',
  },
  text_binary: {
    status: 422,
    en: 'the text file holds no text but binary data',
    pt: 'o arquivo de texto não contém texto, e sim dados binários',
  },
})

export const errors = { ...general, ...fileErrors }
