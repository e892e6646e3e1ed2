/** The types of the HTTP API, printed from its OpenAPI document by `npm run docs`; change the routes instead. */

export type Error = {
  error: {
    code: string
    message: string
  }
}

export type Job = {
  id: string
  queue: string
  kind: string
  version: number
  key: string | null
  ref: string | null
  batch_id: string | null
  group_key: string | null
  state: "waiting" | "running" | "stalled" | "succeeded" | "failed" | "skipped" | "cancelled"
  priority: number
  /** claims so far, with the claims that did not count as an attempt */
  attempt: number
  /** starts of the handler so far */
  starts: number
  failures: number
  crashes: number
  restarts: number
  crash_suspicion: unknown
  /** ISO 8601, UTC */
  run_at: string
  /** options of the enqueue in place of the options of the kind; null: none */
  policy_override: {
    max_attempts?: number
    backoff?: {
      first_seconds: number
      factor: number
      max_seconds: number
      jitter: number
    }
    timeout_seconds?: number
  } | null
  /** by final state, of the enqueue or of the kind; null: as the engine keeps jobs */
  retention_seconds: { [name: string]: number } | null
  input: unknown
  result: unknown
  progress: unknown
  checkpoint: string | null
  error: {
    /** error, timeout, crash, orphan, hung, stalled … */
    type: string
    message: string
    code: string | null
    /** for operators and admins; null for viewers */
    stack: string | null
    cause?: string
  } | null
  /** large values that this list omits or cuts; null: none */
  omitted: {
    input?: {
      /** bytes of the value in the table, where large values are compressed */
      bytes: number
      /** the path of the whole value, below the mount path of the API */
      href: string
    }
    result?: {
      /** bytes of the value in the table, where large values are compressed */
      bytes: number
      /** the path of the whole value, below the mount path of the API */
      href: string
    }
    progress?: {
      /** bytes of the value in the table, where large values are compressed */
      bytes: number
      /** the path of the whole value, below the mount path of the API */
      href: string
    }
    error?: {
      /** bytes of the value in the table, where large values are compressed */
      bytes: number
      /** the path of the whole value, below the mount path of the API */
      href: string
    }
  } | null
  worker: string | null
  /** ISO 8601, UTC */
  created_at: string
  started_at: string | null
  finished_at: string | null
}

export type JobDetail = {
  id: string
  queue: string
  kind: string
  version: number
  key: string | null
  ref: string | null
  batch_id: string | null
  group_key: string | null
  state: "waiting" | "running" | "stalled" | "succeeded" | "failed" | "skipped" | "cancelled"
  priority: number
  /** claims so far, with the claims that did not count as an attempt */
  attempt: number
  /** starts of the handler so far */
  starts: number
  failures: number
  crashes: number
  restarts: number
  crash_suspicion: unknown
  /** ISO 8601, UTC */
  run_at: string
  /** options of the enqueue in place of the options of the kind; null: none */
  policy_override: {
    max_attempts?: number
    backoff?: {
      first_seconds: number
      factor: number
      max_seconds: number
      jitter: number
    }
    timeout_seconds?: number
  } | null
  /** by final state, of the enqueue or of the kind; null: as the engine keeps jobs */
  retention_seconds: { [name: string]: number } | null
  input: unknown
  result: unknown
  progress: unknown
  checkpoint: string | null
  error: {
    /** error, timeout, crash, orphan, hung, stalled … */
    type: string
    message: string
    code: string | null
    /** for operators and admins; null for viewers */
    stack: string | null
    cause?: string
  } | null
  worker: string | null
  /** ISO 8601, UTC */
  created_at: string
  started_at: string | null
  finished_at: string | null
  /** with `values=short`: what is left out because it is large */
  omitted?: {
    input?: {
      /** bytes of the value in the table, where large values are compressed */
      bytes: number
      /** the path of the whole value, below the mount path of the API */
      href: string
    }
    result?: {
      /** bytes of the value in the table, where large values are compressed */
      bytes: number
      /** the path of the whole value, below the mount path of the API */
      href: string
    }
    progress?: {
      /** bytes of the value in the table, where large values are compressed */
      bytes: number
      /** the path of the whole value, below the mount path of the API */
      href: string
    }
    error?: {
      /** bytes of the value in the table, where large values are compressed */
      bytes: number
      /** the path of the whole value, below the mount path of the API */
      href: string
    }
  } | null
  /** the last thousand */
  attempts: ({
    attempt: number
    /** null: the attempt was released or recovered, and is not counted */
    outcome: string | null
    code: string | null
    message: string | null
    worker: string | null
    /** null: an earlier attempt that was released, and is not counted */
    started_at: string | null
    ended_at: string | null
  })[]
  /** the last thousand failures, the last hundred with their stacks */
  history: ({
    attempt: number
    type: string
    code: string | null
    message: string
    /** for operators and admins; null for viewers */
    stack: string | null
    evidence: Record<string, unknown> | null
    worker: string | null
    /** start of the attempt */
    started_at: string | null
    /** ISO 8601, UTC */
    at: string
  })[]
  checkpoints: ({
    name: string
    attempt: number
    /** ISO 8601, UTC */
    at: string
    bytes: number
    sleep_until: string | null
  })[]
  /** what all attempts have cost (`ctx.cost`), by currency; empty: none */
  cost: ({
    /** ISO 4217, such as USD */
    currency: string
    /** an exact decimal number */
    amount: string
  })[]
  events: ({
    type: string
    /** ISO 8601, UTC */
    at: string
    data: Record<string, unknown>
  })[]
  timeline: ({
    /** ISO 8601, UTC */
    at: string
    attempt: number | null
    type: string
  })[]
}

export type CheckpointValue = {
  name: string
  attempt: number
  /** ISO 8601, UTC */
  at: string
  value: unknown
}

export type JobLogLine = {
  attempt: number
  /** number of the line in the attempt; the last 200 lines are kept */
  n: number
  /** ISO 8601, UTC */
  at: string
  level: "info" | "warn" | "error"
  message: string
  facts: Record<string, unknown> | null
}

export type Explanation = {
  /** ok, waiting, paused, starved, orphan, hung, stalled, poison … */
  verdict: string
  sentence: string
  facts: Record<string, unknown>
  advice: {
    action: string
    text: string
    command: string | null
  }
}

export type BulkActionResult = {
  /** how many this request moved; on a dry run, how many match */
  changed: number
  /** of a retry: jobs left unchanged, because another job has their key */
  conflicts: number
  /** false: more jobs may match; repeat the request, for a retry or a resume with `next` as `after` */
  done: boolean
  next: string | null
}

export type JobActionResult = {
  id: string
  state: "waiting" | "running" | "stalled" | "succeeded" | "failed" | "skipped" | "cancelled"
  /** false: the action had nothing to change */
  changed: boolean
}

export type Batch = {
  id: string
  name: string
  key: string | null
  kind: string
  queue: string
  state: "submitting" | "waiting" | "running" | "paused" | "stalled" | "succeeded" | "completed_with_failures" | "failed" | "cancelled"
  /** the reason of a paused, stalled or failed batch: a code with facts */
  reason: {
    code: string
  } | null
  priority: number
  total: number
  waiting: number
  running: number
  stalled: number
  succeeded: number
  failed: number
  skipped: number
  cancelled: number
  /** percentage of items in a final state; null: the batch has no items */
  percent: number | null
  /** items a second, lately */
  rate: number | null
  eta_seconds: number | null
  /** when the last attempt of an item ended */
  progress_at: string | null
  last_ref: string | null
  /** what all attempts of the items have cost (`ctx.cost`), by currency; empty: none */
  cost: ({
    /** ISO 4217, such as USD */
    currency: string
    /** an exact decimal number */
    amount: string
  })[]
  resumes: number
  max_resumes: number
  /** items that the submit has sent so far */
  items_received: number
  /** a cascade over the items is under way */
  following: boolean
  complete_job: string | null
  /** ISO 8601, UTC */
  created_at: string
  submitted_at: string | null
  finished_at: string | null
}

export type BatchAction = {
  id: string
  /** ISO 8601, UTC */
  at: string
  /** null: the action is of the batch itself */
  job_id: string | null
  who: string | null
  what: string
  data: Record<string, unknown>
}

export type Failure = {
  item: string
  ref: string | null
  attempt: number
  failures: number
  /** error, timeout, crash, orphan, hung, stalled … */
  type: string
  message: string
  code: string | null
  /** for operators and admins; null for viewers */
  stack: string | null
  cause: string
  /** large values that this list omits or cuts; null: none */
  omitted: {
    input?: {
      /** bytes of the value in the table, where large values are compressed */
      bytes: number
      /** the path of the whole value, below the mount path of the API */
      href: string
    }
    result?: {
      /** bytes of the value in the table, where large values are compressed */
      bytes: number
      /** the path of the whole value, below the mount path of the API */
      href: string
    }
    progress?: {
      /** bytes of the value in the table, where large values are compressed */
      bytes: number
      /** the path of the whole value, below the mount path of the API */
      href: string
    }
    error?: {
      /** bytes of the value in the table, where large values are compressed */
      bytes: number
      /** the path of the whole value, below the mount path of the API */
      href: string
    }
  } | null
  at: string | null
}

export type FailureGroup = {
  cause: string
  count: number
  /** the count is a lower bound */
  more: boolean
  code: string | null
  /** the message of a failure of the group */
  message: string | null
  /** refs of some items of the group */
  refs: (string)[]
  last_at: string | null
}

export type Queue = {
  queue: string
  paused: boolean
  ready: number | null
  /** waiting for their run_at */
  scheduled: number | null
  running: number | null
  stalled: number | null
  limits: {
    concurrency?: number
    rate?: {
      limit: number
      per_ms: number
    }
    /** every other property is the name of a group with its own limits */
    per_group?: {
      concurrency?: number
      rate?: {
        limit: number
        per_ms: number
      }
      admit?: {
        limit: number
        per_ms: number
      }
    }
    /** the groups, or the batches, take turns */
    fair?: "group" | "batch"
    /** jobs in one turn, by group or by name of the batch; 1 if not given */
    weights?: { [name: string]: number }
    max_depth?: number
  }
}

export type GroupUsage = {
  group: string
  running: number
  concurrency: number | null
  /** in the current period; null: no rate */
  starts: number | null
  rate: {
    limit: number
    per_ms: number
  } | null
  /** no further job of the group starts now */
  full: boolean
}

export type Schedule = {
  name: string
  kind: string
  cron?: string
  time_zone?: string
  every_ms?: number
  /** its recurrence in words */
  words: string
  catch_up: unknown
  /** ISO 8601, UTC */
  next_at: string
  last_occurrence: string | null
  last_at: string | null
  last_job: string | null
  /** a process defines this schedule; without such a process no occurrence enqueues a job */
  active: boolean
  /** the occurrences pass without a job */
  paused: boolean
}

export type Guard = {
  name: string
  table: string
  status: {
    column: string
    running: (string | null)[]
  }
  signal: (string)[]
  /** the values that the guard writes to a lost row; now() is the instant of the mark */
  set: { [name: string]: string | null }
  /** the kind of the job that the guard enqueues for each row */
  kind: string | null
  after_ms: number
  every_ms: number
  last_sweep_at: string | null
  /** null: the guard is private, and only an admin sees counts */
  last_marked: number | null
  total: number | null
  last_error: {
    code: string
    message: string
  } | null
  failing_since: string | null
  warnings: (string)[]
  active: boolean
  late: boolean
  /** only an admin sees the counts, the keys of the rows and the messages of errors */
  private: boolean
}

export type GuardRun = {
  name: string
  table: string
  dry_run: boolean
  /** on a dry run, rows that would be marked */
  marked: number | null
  rows: ({
    /** the row's key, as it is in its table */
    key: unknown
    /** ISO 8601, UTC */
    signal_at: string
  })[]
  set: { [name: string]: string | null }
  jobs: number | null
  /** true: `marked` and `jobs` are null, `rows` and `refused` are empty, except for an admin */
  private: boolean
  refused: ({
    /** the row's key, as it is in its table */
    key: unknown
    code: string
    message: string
  })[]
  warnings: (string)[]
}

export type HistoryPoint = {
  /** start of the step */
  at: string
  started: number
  succeeded: number
  skipped: number
  /** the job failed for good */
  failed: number
  /** the attempt failed, and the job waits for another */
  retried: number
  /** releases, snoozes and waits for a provider */
  deferred: number
  /** of handlers whose attempt ended */
  duration: HistoryDistribution
  /** from ready to started */
  waiting: HistoryDistribution
}

export type HistoryDistribution = {
  count: number
  /** null: nothing was measured */
  mean_seconds: number | null
  /** null: nothing was measured */
  p50_seconds: number | null
  /** null: nothing was measured */
  p95_seconds: number | null
  /** a count for each bound of bucket_seconds, then a count for larger values */
  buckets: (number)[]
}

export type Problem = {
  /** such as batch.stalled, queue.paused, provider.stopped, watchdog.late */
  event: string
  /** such as batch:17 or queue:mail */
  subject: string
  severity: "info" | "warning" | "critical"
  sentence: string
  /** ISO 8601, UTC */
  since: string
  facts: Record<string, unknown>
  /** the action that helps, on the subject; null: no single action helps */
  action: "batch.resume" | "queue.resume" | "jobs.resume" | "provider.clear" | null
}

export type Incident = {
  id: string
  /** such as batch.stalled, queue.paused, provider.stopped, watchdog.late */
  event: string
  /** such as batch:17 or queue:mail */
  subject: string
  severity: "info" | "warning" | "critical"
  sentence: string
  /** ISO 8601, UTC */
  since: string
  facts: Record<string, unknown>
  /** ISO 8601, UTC */
  found_at: string
  resolved_at: string | null
}

export type Finding = {
  verdict: string
  subject: string
  /** ISO 8601, UTC */
  since: string
  /** ISO 8601, UTC */
  seen_at: string
  facts: Record<string, unknown>
}

export type FailureCause = {
  cause: string
  count: number
  code: string | null
  /** of the newest failure of the cause */
  message: string
  /** the newest job of the cause */
  job: string
  queues: (string)[]
  kinds: (string)[]
  /** ISO 8601, UTC */
  last_at: string
}

export type Projeto = {
  id: string
  nome: string
  categorias: (string)[]
  instrucoes: string
  /** null: the one of OPENROUTER_MODEL */
  modelo: string | null
  max_retries_execucao: number
  max_retries_documento: number
  /** dollars, with two to six decimals; null: no limit */
  limite_custo_usd: string | null
  peso: number
  revisar_abaixo_de: number | null
  exemplos: number
  varias_categorias: boolean
  ocr: boolean
  ocr_max_paginas: number
  /** the pages of a PDF or TIFF that count; null: all */
  paginas: string | null
  /** ISO 4217 */
  moeda: string
  /** answered without the AI, because it has no key */
  simulado: boolean
  /** ISO 8601, UTC */
  criado_em: string
  /** ISO 8601, UTC */
  atualizado_em: string
}

export type Execucao = {
  id: string
  projeto_id: string
  projeto: string
  status: "PENDENTE" | "EM_ANDAMENTO" | "PAUSADO" | "TRAVADO" | "CONCLUIDO" | "ERRO" | "CANCELADO"
  /** the status for people, such as "Concluído com erros" */
  status_exibicao: string
  total: number
  pendentes: number
  processando: number
  concluidos: number
  erros: number
  pulados: number
  /** of those that were skipped, how many because the execution was cancelled */
  cancelados: number
  /** of a hundred, how many have ended */
  percentual: number
  tentativas_retry: number
  max_retries: number
  reaproveitar: boolean
  /** 0 (first) to 9: executions of a priority take turns */
  prioridade: number
  /** documents in one of its turns */
  peso: number
  /** the execution whose documents run again; null: they were sent */
  origem_id: string | null
  /** the model that documents which are not done are asked of; null: the one of OPENROUTER_MODEL */
  modelo: string | null
  /** dollars, with two decimals, half a cent rounded up */
  custo_usd: string
  /** the same with six decimals, for a document costs fractions of a cent */
  custo_usd_exato: string
  /** ISO 4217 */
  moeda: string
  /** answered without the AI, because it has no key */
  simulado: boolean
  /** processor time of OCR, in seconds */
  ocr_segundos: number
  /** the pages of a PDF or TIFF that count; null: all */
  paginas: string | null
  criado_por: string
  /** ISO 8601, UTC */
  criado_em: string
  concluido_em: string | null
}

export type StatusDetalhado = {
  id: string
  status: "PENDENTE" | "EM_ANDAMENTO" | "PAUSADO" | "TRAVADO" | "CONCLUIDO" | "ERRO" | "CANCELADO"
  /** the status for people, such as "Concluído com erros" */
  status_exibicao: string
  total: number
  pendentes: number
  processando: number
  concluidos: number
  erros: number
  pulados: number
  /** of those that were skipped, how many because the execution was cancelled */
  cancelados: number
  /** of a hundred, how many have ended */
  percentual: number
  /** when the last attempt of a document ended */
  ultimo_heartbeat: string | null
  segundos_sem_progresso: number
  ultimo_codigo_processado: string | null
  tentativas_retry: number
  max_retries: number
  pode_retomar: boolean
  rota_origem: string
  /** one sentence: whether to wait, or which action to run */
  diagnostico: string
  travado_motivo: string | null
  /** 0 (first) to 9: executions of a priority take turns */
  prioridade: number
  /** documents in one of its turns */
  peso: number
  /** the model that documents which are not done are asked of; null: the one of OPENROUTER_MODEL */
  modelo: string | null
  /** dollars, with two decimals, half a cent rounded up */
  custo_usd: string
  /** the same with six decimals, for a document costs fractions of a cent */
  custo_usd_exato: string
  /** dollars, with two to six decimals; null: no limit */
  limite_custo_usd: string | null
  /** ISO 4217 */
  moeda: string
  /** answered without the AI, because it has no key */
  simulado: boolean
  /** processor time of OCR, in seconds */
  ocr_segundos: number
  erros_recentes: ({
    codigo: string
    erro_mensagem: string | null
    ultimo_erro_em: string | null
  })[]
}

export type Documento = {
  codigo: string
  status: "PENDENTE" | "PROCESSANDO" | "CONCLUIDO" | "ERRO" | "PULADO"
  tentativas: number
  erro_mensagem: string | null
  ultimo_erro_em: string | null
  categoria: string | null
  confianca: number | null
  /** answered without the AI, because it has no key */
  simulado: boolean
  /** an earlier one of this execution with the same bytes */
  duplicado_de: string | null
  /** it has the answer to an earlier document with the same bytes */
  reaproveitado: boolean
  /** all of them; more than one only with varias_categorias */
  categorias: (string)[]
  categorias_ia: (string)[]
  /** what the AI answered; categoria is what a person said, if one did */
  categoria_ia: string | null
  /** answered with less confidence than revisar_abaixo_de, and not reviewed yet */
  revisar: boolean
  /** what a person made of the answer; null: nobody has looked */
  revisao: "ACEITO" | "CORRIGIDO" | null
  revisado_por: string | null
  revisado_em: string | null
  /** scanned pages or an image were read by OCR */
  ocr: boolean
  ocr_paginas: number | null
  /** 0 to 1; null: no OCR, or no text found */
  ocr_confianca: number | null
  ocr_segundos: number | null
}

export type ErroDeDocumento = {
  codigo: string
  status: "PENDENTE" | "PROCESSANDO" | "CONCLUIDO" | "ERRO" | "PULADO"
  tentativas: number
  erro_mensagem: string | null
  /** null for viewers */
  erro_stack: string | null
  ultimo_erro_em: string | null
  /** what the AI wrote that was of no use, at most 4,000 characters; null for viewers */
  resposta_ia: string | null
}

export type Resultado = {
  codigo: string
  categoria: string | null
  confianca: number | null
  justificativa: string | null
  status: "PENDENTE" | "PROCESSANDO" | "CONCLUIDO" | "ERRO" | "PULADO"
  modelo: string | null
  tokens_entrada: number | null
  tokens_saida: number | null
  custo_usd: string | null
  custo_usd_exato: string | null
  /** ISO 4217 */
  moeda: string
  /** answered without the AI, because it has no key */
  simulado: boolean
  /** why the document is ERRO or PULADO */
  erro_mensagem: string | null
  /** all of them; more than one only with varias_categorias */
  categorias: (string)[]
  categorias_ia: (string)[]
  /** what the AI answered; categoria is what a person said, if one did */
  categoria_ia: string | null
  /** answered with less confidence than revisar_abaixo_de, and not reviewed yet */
  revisar: boolean
  /** what a person made of the answer; null: nobody has looked */
  revisao: "ACEITO" | "CORRIGIDO" | null
  revisado_por: string | null
  revisado_em: string | null
  /** scanned pages or an image were read by OCR */
  ocr: boolean
  ocr_paginas: number | null
  /** 0 to 1; null: no OCR, or no text found */
  ocr_confianca: number | null
  ocr_segundos: number | null
}

export type ContagemDeCategoria = {
  categoria: string
  documentos: number
  /** that ask for a review */
  revisar: number
  aceitos: number
  corrigidos: number
  confianca_media: number | null
  /** dollars, with two decimals, half a cent rounded up */
  custo_usd: string
  /** the same with six decimals, for a document costs fractions of a cent */
  custo_usd_exato: string
  /** ISO 4217 */
  moeda: string
}

export type DocumentoEmDetalhe = {
  codigo: string
  status: "PENDENTE" | "PROCESSANDO" | "CONCLUIDO" | "ERRO" | "PULADO"
  tentativas: number
  erro_mensagem: string | null
  ultimo_erro_em: string | null
  categoria: string | null
  confianca: number | null
  /** answered without the AI, because it has no key */
  simulado: boolean
  /** an earlier one of this execution with the same bytes */
  duplicado_de: string | null
  /** it has the answer to an earlier document with the same bytes */
  reaproveitado: boolean
  /** all of them; more than one only with varias_categorias */
  categorias: (string)[]
  categorias_ia: (string)[]
  /** what the AI answered; categoria is what a person said, if one did */
  categoria_ia: string | null
  /** answered with less confidence than revisar_abaixo_de, and not reviewed yet */
  revisar: boolean
  /** what a person made of the answer; null: nobody has looked */
  revisao: "ACEITO" | "CORRIGIDO" | null
  revisado_por: string | null
  revisado_em: string | null
  /** scanned pages or an image were read by OCR */
  ocr: boolean
  ocr_paginas: number | null
  /** 0 to 1; null: no OCR, or no text found */
  ocr_confianca: number | null
  ocr_segundos: number | null
  justificativa: string | null
  modelo: string | null
  tokens_entrada: number | null
  tokens_saida: number | null
  custo_usd: string | null
  custo_usd_exato: string | null
  /** ISO 4217 */
  moeda: string
  /** what the AI wrote, useful or not, at most 4,000 characters; null for viewers */
  resposta_ia: string | null
}

export type Comparacao = {
  a: {
    id: string
    /** the model that documents which are not done are asked of; null: the one of OPENROUTER_MODEL */
    modelo: string | null
    total: number
    /** dollars, with two decimals, half a cent rounded up */
    custo_usd: string
    /** the same with six decimals, for a document costs fractions of a cent */
    custo_usd_exato: string
    /** of the documents that both have, with six decimals */
    custo_em_comum_usd: string
  }
  b: {
    id: string
    /** the model that documents which are not done are asked of; null: the one of OPENROUTER_MODEL */
    modelo: string | null
    total: number
    /** dollars, with two decimals, half a cent rounded up */
    custo_usd: string
    /** the same with six decimals, for a document costs fractions of a cent */
    custo_usd_exato: string
    /** of the documents that both have, with six decimals */
    custo_em_comum_usd: string
  }
  /** ISO 4217 */
  moeda: string
  /** documents with the same codigo and the same bytes in both */
  em_comum: number
  somente_em_a: number
  somente_em_b: number
  /** the same codigo, but other bytes: not compared */
  arquivo_diferente: number
  /** answered by the AI in both */
  comparados: number
  iguais: number
  diferentes: number
  /** of a hundred compared, how many are equal; null: none */
  concordancia: number | null
  confusao: ({
    categoria_a: string
    categoria_b: string
    documentos: number
  })[]
  mudancas: ({
    codigo: string
    categoria_a: string
    categoria_b: string
    confianca_a: number | null
    confianca_b: number | null
  })[]
  /** of mudancas */
  next: string | null
  /** answered without the AI, because it has no key */
  simulado: boolean
}

export type Precisao = {
  modelos: ({
    modelo: string | null
    revisados: number
    /** a person accepted the answer */
    corretos: number
    /** of a hundred reviewed, how many were right */
    precisao: number
    categorias: ({
      categoria: string
      revisados: number
      /** a person accepted the answer */
      corretos: number
      /** of a hundred reviewed, how many were right */
      precisao: number
    })[]
  })[]
  /** answered without the AI, because it has no key */
  simulado: boolean
}

export type Estimativa = {
  documentos: number
  modelo: string | null
  /** null: no past answer of this model to estimate from; run a sample */
  custo_usd: string | null
  custo_usd_exato: string | null
  /** if each cost as much as the dearest of the past */
  custo_maximo_usd: string | null
  /** ISO 4217 */
  moeda: string
  /** at the pace of the latest executions of this model */
  segundos: number | null
  /** past answers that the estimate stands on */
  base: {
    documentos: number
  }
  /** answered without the AI, because it has no key */
  simulado: boolean
}

export type Prompt = {
  modelo: string
  mensagens: ({
    papel: "system" | "user"
    conteudo: string
  })[]
  caracteres: number
  /** corrections of people among the messages */
  exemplos: number
  /** answered without the AI, because it has no key */
  simulado: boolean
}

export type ListedQuote = {
  id: string
  status: "PENDING" | "PROCESSING" | "DONE" | "ERROR" | "CANCELLED"
  batch_id: string | null
  description: string
  /** null: the analysis has not decided yet */
  kind: "vehicle" | "product" | null
  processing_checkpoint: "INIT" | "AI_ANALYSIS_START" | "AI_ANALYSIS_DONE" | "FIPE_SEARCH" | "SHOPPING_SEARCH_START" | "SHOPPING_SEARCH_DONE" | "PRICE_EXTRACTION_START" | "PRICE_EXTRACTION_PROGRESS" | "PRICE_EXTRACTION_DONE" | "FINALIZATION" | "COMPLETED" | null
  progress_percentage: number
  last_heartbeat: string | null
  /** null while no worker has the quote */
  worker_id: string | null
  /** the current attempt; while the quote waits, the next one */
  attempt_number: number
  started_at: string | null
  completed_at: string | null
  error_message: string | null
  result: QuoteResult | null
  /** ISO 8601, UTC */
  created_at: string
  /** a provider without a key was simulated on this machine */
  simulado: boolean
  /** what a later attempt starts from */
  resume_data: {
    tested_products: (ListQuotesschema0)[]
  } | null
  analysis: ListQuotesschema0
  claude_payload_json: ListQuotesschema0
  google_shopping_response_json: ListQuotesschema0
  /** null with `values=short` */
  prices: (QuotePrice)[] | null
  /** JSON values of more than 2,000 bytes, which are null in a list; null: none */
  omitted: { [name: string]: {
    /** bytes of the value in the table, where large values are compressed */
    bytes: number
    /** the address of the quote with the whole value */
    href: string
  } } | null
}

export type QuoteResult = {
  price: string | null
  currency: string
  confidence: "high" | "medium" | "low"
  confidence_reason: string | null
}

export type ListQuotesschema0 = string | number | boolean | null | (ListQuotesschema0)[] | { [name: string]: ListQuotesschema0 }

export type QuotePrice = {
  n: number
  product: string
  shop: string
  url: string
  title: string | null
  /** with two decimals, as text */
  price: string
  currency: string
  source: string | null
  /** the part of the page that the price was read from */
  snippet: string | null
  /** ISO 8601, UTC */
  seen_at: string
  /** null: not decided yet */
  used: boolean | null
  /** why the price does not count */
  reason: string | null
  /** the page as it was, compressed */
  evidence_url: string | null
  /** a picture of the page; null without CHROMIUM_PATH */
  screenshot_url: string | null
}

export type Quote = {
  id: string
  status: "PENDING" | "PROCESSING" | "DONE" | "ERROR" | "CANCELLED"
  batch_id: string | null
  description: string
  /** null: the analysis has not decided yet */
  kind: "vehicle" | "product" | null
  processing_checkpoint: "INIT" | "AI_ANALYSIS_START" | "AI_ANALYSIS_DONE" | "FIPE_SEARCH" | "SHOPPING_SEARCH_START" | "SHOPPING_SEARCH_DONE" | "PRICE_EXTRACTION_START" | "PRICE_EXTRACTION_PROGRESS" | "PRICE_EXTRACTION_DONE" | "FINALIZATION" | "COMPLETED" | null
  progress_percentage: number
  last_heartbeat: string | null
  /** null while no worker has the quote */
  worker_id: string | null
  /** the current attempt; while the quote waits, the next one */
  attempt_number: number
  started_at: string | null
  completed_at: string | null
  error_message: string | null
  result: QuoteResult | null
  /** ISO 8601, UTC */
  created_at: string
  /** a provider without a key was simulated on this machine */
  simulado: boolean
  /** PENDING: a sentence that says what the quote waits for; otherwise null */
  waiting_reason: string | null
  /** what a later attempt starts from */
  resume_data: {
    tested_products: (GetQuoteschema0)[]
  } | null
  analysis: GetQuoteschema0
  claude_payload_json: GetQuoteschema0
  google_shopping_response_json: GetQuoteschema0
  prices: (QuotePrice)[]
  pages_without_price: (PageWithoutPrice)[]
}

export type GetQuoteschema0 = string | number | boolean | null | (GetQuoteschema0)[] | { [name: string]: GetQuoteschema0 }

export type PageWithoutPrice = {
  n: number
  product: string
  shop: string
  url: string
  reason: string | null
  /** ISO 8601, UTC */
  seen_at: string
  evidence_url: string | null
}

export type StuckQuote = {
  id: string
  status: "PENDING" | "PROCESSING" | "DONE" | "ERROR" | "CANCELLED"
  batch_id: string | null
  description: string
  /** null: the analysis has not decided yet */
  kind: "vehicle" | "product" | null
  processing_checkpoint: "INIT" | "AI_ANALYSIS_START" | "AI_ANALYSIS_DONE" | "FIPE_SEARCH" | "SHOPPING_SEARCH_START" | "SHOPPING_SEARCH_DONE" | "PRICE_EXTRACTION_START" | "PRICE_EXTRACTION_PROGRESS" | "PRICE_EXTRACTION_DONE" | "FINALIZATION" | "COMPLETED" | null
  progress_percentage: number
  last_heartbeat: string | null
  /** null while no worker has the quote */
  worker_id: string | null
  /** the current attempt; while the quote waits, the next one */
  attempt_number: number
  started_at: string | null
  completed_at: string | null
  error_message: string | null
  result: QuoteResult | null
  /** ISO 8601, UTC */
  created_at: string
  /** a provider without a key was simulated on this machine */
  simulado: boolean
  /** what a later attempt starts from */
  resume_data: {
    tested_products: (ListStuckQuotesschema0)[]
  } | null
  analysis: ListStuckQuotesschema0
  claude_payload_json: ListStuckQuotesschema0
  google_shopping_response_json: ListStuckQuotesschema0
  prices: (QuotePrice)[]
  /** JSON values of more than 2,000 bytes, which are null in a list; null: none */
  omitted: { [name: string]: {
    /** bytes of the value in the table, where large values are compressed */
    bytes: number
    /** the address of the quote with the whole value */
    href: string
  } } | null
  seconds_since_heartbeat: number
}

export type ListStuckQuotesschema0 = string | number | boolean | null | (ListStuckQuotesschema0)[] | { [name: string]: ListStuckQuotesschema0 }

export type Document = {
  id: string
  user: string
  filename: string
  /** bytes */
  size: number
  sha256: string
  status: "PENDING" | "PROCESSING" | "DONE" | "FAILED"
  /** why the document is FAILED */
  error_message: string | null
  pages: number | null
  title: string | null
  /** null: another language, or too little text */
  language: "pt" | "en" | null
  /** false: the text lacks pages */
  text_complete: boolean | null
  /** the first document of the same user with the same bytes */
  duplicate_of: string | null
  thumbnail_url: string | null
  /** ISO 8601, UTC */
  created_at: string
  /** ISO 8601, UTC */
  updated_at: string
}

export type BankSync = {
  id: string
  status: "PENDING" | "PROCESSING" | "DONE" | "FAILED"
  /** null: all connections of the user */
  item_id: string | null
  error_code: string | null
  /** why the sync is FAILED, or why it waits */
  error_message: string | null
  /** the bank waits for its customer: no further attempt helps */
  needs_user: boolean
  /** of a sync that waits after an attempt */
  retry_at: string | null
  attempts: number
  /** accounts read to the end */
  accounts: number
  /** new transactions */
  added: number
  /** transactions with a changed value */
  changed: number
  /** transactions that the bank does not list any more */
  removed: number
  /** the user to whom the row belongs */
  user: string
  /** ISO 8601, UTC */
  created_at: string
  started_at: string | null
  /** ISO 8601, UTC */
  updated_at: string
  completed_at: string | null
  /** Pluggy without keys was simulated on this machine */
  simulado: boolean
}

export type BankItem = {
  id: string
  institution: string | null
  /** Pluggy's word, such as UPDATED or LOGIN_ERROR */
  status: string
  status_detail: string | null
  needs_user: boolean
  /** ISO 8601, UTC */
  checked_at: string
  /** the end of the last whole sync */
  synced_at: string | null
  /** the user to whom the row belongs */
  user: string
  /** Pluggy without keys was simulated on this machine */
  simulado: boolean
}

export type BankAccount = {
  id: string
  item_id: string
  institution: string | null
  name: string
  type: string
  subtype: string | null
  last_digits: string | null
  /** with two decimals, as text */
  balance: string
  currency: string
  /** ISO 8601, UTC */
  balance_at: string
  /** the newest transaction of the last whole sync */
  synced_to: string | null
  /** the bank does not list the account any more */
  removed_at: string | null
  /** the user to whom the row belongs */
  user: string
  /** Pluggy without keys was simulated on this machine */
  simulado: boolean
}

export type BankTransaction = {
  id: string
  account_id: string
  item_id: string
  /** as the bank gives the instant */
  date: string
  /** the day in Brazil */
  day: string
  description: string
  /** as the bank gives the amount; `type` is the direction */
  amount: string
  currency: string
  type: "CREDIT" | "DEBIT"
  status: "POSTED" | "PENDING"
  category: string | null
  category_id: string | null
  /** ISO 8601, UTC */
  created_at: string
  /** ISO 8601, UTC */
  updated_at: string
  /** the bank does not list the transaction any more */
  removed_at: string | null
  /** the user to whom the row belongs */
  user: string
  /** Pluggy without keys was simulated on this machine */
  simulado: boolean
}

export type BankTotals = {
  /** the day in Brazil */
  from: string
  /** the day in Brazil */
  to: string
  months: ({
    month: string
    currency: string
    /** with two decimals, as text */
    credit: string
    /** with two decimals, as text */
    debit: string
    count: number
  })[]
  categories: ({
    category: string | null
    currency: string
    /** with two decimals, as text */
    credit: string
    /** with two decimals, as text */
    debit: string
    count: number
  })[]
  items: ({
    month: string
    category: string | null
    currency: string
    /** with two decimals, as text */
    credit: string
    /** with two decimals, as text */
    debit: string
    count: number
  })[]
  /** all sums are of simulated transactions; sums of real and of simulated transactions are never mixed */
  simulado: boolean
}

export type ListedSnap = {
  id: string
  status: "PENDING" | "PROCESSING" | "DONE" | "FAILED"
  /** tries so far, of 5; the end of a worker is no try */
  attempt_count: number
  /** after a failure: when the next attempt may start */
  next_retry_at: string | null
  last_error: string | null
  /** the worker that has the snap now */
  claimed_by: string | null
  /** since when the worker has the snap */
  locked_at: string | null
  /** ISO 8601, UTC */
  created_at: string
  completed_at: string | null
  name: string
  content_type: string
  /** bytes */
  size: number
  sha256: string
  /** the oldest snap with the same bytes */
  duplicate_of: string | null
  /** the oldest snap with the same perceptual hash, whatever its bytes */
  similar_to: string | null
  result: {
    format: string
    /** pixels, as shown */
    width: number
    height: number
    /** difference hash, 16 hex digits; similar images differ in few bits */
    perceptual_hash: string
    /** variance of the Laplacian; low: blurred; null: fewer than 3 x 3 pixels */
    blur_score: number | null
    dominant_colors: ({
      hex: string
      share: number
    })[]
    /** of EXIF; a clock without an offset counts as UTC */
    taken_at: string | null
    /** offset of the camera's clock, such as -03:00 */
    taken_at_offset: string | null
  } | null
}

export type Snap = {
  id: string
  status: "PENDING" | "PROCESSING" | "DONE" | "FAILED"
  /** tries so far, of 5; the end of a worker is no try */
  attempt_count: number
  /** after a failure: when the next attempt may start */
  next_retry_at: string | null
  last_error: string | null
  /** the worker that has the snap now */
  claimed_by: string | null
  /** since when the worker has the snap */
  locked_at: string | null
  /** ISO 8601, UTC */
  created_at: string
  completed_at: string | null
  name: string
  content_type: string
  /** bytes */
  size: number
  sha256: string
  /** the oldest snap with the same bytes */
  duplicate_of: string | null
  /** the oldest snap with the same perceptual hash, whatever its bytes */
  similar_to: string | null
  result: {
    format: string
    /** pixels, as shown */
    width: number
    height: number
    /** difference hash, 16 hex digits; similar images differ in few bits */
    perceptual_hash: string
    /** variance of the Laplacian; low: blurred; null: fewer than 3 x 3 pixels */
    blur_score: number | null
    dominant_colors: ({
      hex: string
      share: number
    })[]
    /** of EXIF; a clock without an offset counts as UTC */
    taken_at: string | null
    /** offset of the camera's clock, such as -03:00 */
    taken_at_offset: string | null
    /** pixels of each luminance, 0 to 255, of the image at most 1024 pixels a side */
    luminance_histogram: (number)[]
  } | null
}

export type ListedPlannerJob = {
  id: string
  kind: "generate-schedule" | "extract-demand" | "generate-thumbnail"
  status: "PENDING" | "RUNNING" | "COMPLETED" | "FAILED"
  /** ISO 8601, UTC */
  created_at: string
  started_at: string | null
  completed_at: string | null
  /** heartbeat of the worker while RUNNING, at most 30 s old; frozen at the end */
  last_heartbeat_at: string | null
  error_message: string | null
  progress: Record<string, unknown> | null
}

export type PlannerJob = {
  id: string
  kind: "generate-schedule" | "extract-demand" | "generate-thumbnail"
  status: "PENDING" | "RUNNING" | "COMPLETED" | "FAILED"
  /** ISO 8601, UTC */
  created_at: string
  started_at: string | null
  completed_at: string | null
  /** heartbeat of the worker while RUNNING, at most 30 s old; frozen at the end */
  last_heartbeat_at: string | null
  error_message: string | null
  progress: Record<string, unknown> | null
  result: GetPlannerJobschema0
}

export type GetPlannerJobschema0 = string | number | boolean | null | (GetPlannerJobschema0)[] | { [name: string]: GetPlannerJobschema0 }

export interface Operations {
  /** Answers while the process lives */
  'GET /health': {
    role: 'open'
    answer: {
      status: "ok"
      version: string
    }
  }
  /** Answers 200 if the database responds, the watchdog is on time and, in a process with a worker, the worker can claim */
  'GET /ready': {
    role: 'open'
    answer: {
      status: "ok"
    }
  }
  /** Gets the metrics of the whole system and of this process for Prometheus */
  'GET /metrics': {
    role: 'viewer'
    answer: unknown
  }
  /** Enqueues one job, or up to 10,000 jobs of any kinds: all or none */
  'POST /api/v1/jobs': {
    role: 'operator'
    body: {
      kind: string
      input?: unknown
      /** one job per kind and key until 24 h after its end */
      key?: string
      key_until?: "day" | "final"
      priority?: number
      /** ISO 8601, with Z or an offset */
      run_at?: string
      delay_seconds?: number
      /** the tenant or user of the job */
      group_key?: string
      /** your own code for the job */
      ref?: string
      /** an existing queue, in place of the queue of the kind */
      queue?: string
      /** in place of maxAttempts of the kind */
      max_attempts?: number
      /** in place of the backoff of the kind, part by part */
      backoff?: {
        first_seconds?: number | 0
        factor?: number
        max_seconds?: number
        jitter?: number
      }
      /** in place of the timeout of the kind */
      timeout_seconds?: number
      /** the retention after the final state: one value, or a value for each final state */
      retention_seconds?: number | {
        succeeded?: number
        failed?: number
        skipped?: number
        cancelled?: number
      }
    } | ({
      kind: string
      input?: unknown
      /** one job per kind and key until 24 h after its end */
      key?: string
      key_until?: "day" | "final"
      priority?: number
      /** ISO 8601, with Z or an offset */
      run_at?: string
      delay_seconds?: number
      /** the tenant or user of the job */
      group_key?: string
      /** your own code for the job */
      ref?: string
      /** an existing queue, in place of the queue of the kind */
      queue?: string
      /** in place of maxAttempts of the kind */
      max_attempts?: number
      /** in place of the backoff of the kind, part by part */
      backoff?: {
        first_seconds?: number | 0
        factor?: number
        max_seconds?: number
        jitter?: number
      }
      /** in place of the timeout of the kind */
      timeout_seconds?: number
      /** the retention after the final state: one value, or a value for each final state */
      retention_seconds?: number | {
        succeeded?: number
        failed?: number
        skipped?: number
        cancelled?: number
      }
    })[] | {
      jobs: ({
        kind: string
        input?: unknown
        /** one job per kind and key until 24 h after its end */
        key?: string
        key_until?: "day" | "final"
        priority?: number
        /** ISO 8601, with Z or an offset */
        run_at?: string
        delay_seconds?: number
        /** the tenant or user of the job */
        group_key?: string
        /** your own code for the job */
        ref?: string
        /** an existing queue, in place of the queue of the kind */
        queue?: string
        /** in place of maxAttempts of the kind */
        max_attempts?: number
        /** in place of the backoff of the kind, part by part */
        backoff?: {
          first_seconds?: number | 0
          factor?: number
          max_seconds?: number
          jitter?: number
        }
        /** in place of the timeout of the kind */
        timeout_seconds?: number
        /** the retention after the final state: one value, or a value for each final state */
        retention_seconds?: number | {
          succeeded?: number
          failed?: number
          skipped?: number
          cancelled?: number
        }
      })[]
    }
    answer: {
      id: string
      /** false: the job already existed with this key */
      created: boolean
      state: "waiting" | "running" | "stalled" | "succeeded" | "failed" | "skipped" | "cancelled"
    } | {
      items: ({
        id: string
        /** false: the job already existed with this key */
        created: boolean
        state: "waiting" | "running" | "stalled" | "succeeded" | "failed" | "skipped" | "cancelled"
      })[]
      created: number
      duplicates: number
    }
  }
  /** Lists jobs by filter, the newest first. A page may have fewer jobs than `limit` although `next` is set */
  'GET /api/v1/jobs': {
    role: 'viewer'
    query: { state?: "waiting" | "running" | "stalled" | "succeeded" | "failed" | "skipped" | "cancelled"; kind?: string; queue?: string; group_key?: string; ref?: string; key?: string; batch_id?: string; created_before?: string; created_after?: string; error?: string; worker?: string; limit?: number; after?: string }
    answer: {
      items: (Job)[]
      next: string | null
    }
  }
  /** Gets a job with its attempts, failures, checkpoints and history */
  'GET /api/v1/jobs/{id}': {
    role: 'viewer'
    params: { id: string }
    query: { values?: "all" | "short" }
    answer: JobDetail
  }
  /** Changes the earliest start, the priority or the input of a waiting job; 409 if the job has started */
  'PATCH /api/v1/jobs/{id}': {
    role: 'operator'
    params: { id: string }
    body: {
      /** ISO 8601, with Z or an offset */
      run_at?: string
      delay_seconds?: number
      priority?: number
      input?: unknown
    }
    answer: JobActionResult
  }
  /** Reads the saved value of a step of a job */
  'GET /api/v1/jobs/{id}/checkpoints/{step}': {
    role: 'operator'
    params: { id: string; step: string }
    answer: CheckpointValue
  }
  /** Lists the last log lines of a job (`ctx.log`), the oldest first */
  'GET /api/v1/jobs/{id}/logs': {
    role: 'viewer'
    params: { id: string }
    query: { attempt?: number; limit?: number; after?: string }
    answer: {
      items: (JobLogLine)[]
      next: string | null
    }
  }
  /** Explains why a job does not advance, and whether to wait or to run an action */
  'GET /api/v1/jobs/{id}/explain': {
    role: 'viewer'
    params: { id: string }
    answer: Explanation
  }
  /** Explains why a job does not advance, and whether to wait or to run an action */
  'POST /api/v1/jobs/{id}/explain': {
    role: 'viewer'
    params: { id: string }
    answer: Explanation
  }
  /** Cancels the jobs of a filter that are not final. A request works for some seconds; repeat the request until `done` */
  'POST /api/v1/jobs/cancel': {
    role: 'operator'
    body: {
      state?: "waiting" | "running" | "stalled"
      kind?: string
      queue?: string
      group_key?: string
      batch_id?: string
      /** ISO 8601, with Z or an offset */
      created_before?: string
      /** without batch_id */
      created_after?: string
      /** a text in the message of the last error, or its code; without batch_id */
      error?: string
      /** these jobs; with state alone */
      ids?: (string)[]
      /** true: counts the matching jobs, and changes nothing */
      dry_run?: boolean
    }
    answer: BulkActionResult
  }
  /** Retries the failed, skipped or cancelled jobs of a filter */
  'POST /api/v1/jobs/retry': {
    role: 'operator'
    body: {
      state?: "failed" | "skipped" | "cancelled"
      kind?: string
      queue?: string
      group_key?: string
      batch_id?: string
      /** ISO 8601, with Z or an offset */
      created_before?: string
      /** without batch_id */
      created_after?: string
      /** a text in the message of the last error, or its code; without batch_id */
      error?: string
      /** these jobs; with state alone */
      ids?: (string)[]
      /** the `next` of the request before */
      after?: string
      /** true: counts the matching jobs, and changes nothing */
      dry_run?: boolean
    }
    answer: BulkActionResult
  }
  /** Resumes the stalled jobs of a filter; items of a stalled batch stay `stalled` until the batch is resumed */
  'POST /api/v1/jobs/resume': {
    role: 'operator'
    body: {
      state?: "stalled"
      kind?: string
      queue?: string
      group_key?: string
      batch_id?: string
      /** ISO 8601, with Z or an offset */
      created_before?: string
      /** without batch_id */
      created_after?: string
      /** a text in the message of the last error, or its code; without batch_id */
      error?: string
      /** these jobs; with state alone */
      ids?: (string)[]
      /** the `next` of the request before */
      after?: string
      /** true: counts the matching jobs, and changes nothing */
      dry_run?: boolean
    }
    answer: BulkActionResult
  }
  /** Erases the final jobs of a filter with all their data. A request works for some seconds; repeat the request until `done` */
  'POST /api/v1/jobs/erase': {
    role: 'admin'
    body: {
      state?: "succeeded" | "failed" | "skipped" | "cancelled"
      kind?: string
      queue?: string
      group_key?: string
      batch_id?: string
      /** ISO 8601, with Z or an offset */
      created_before?: string
      /** without batch_id */
      created_after?: string
      /** a text in the message of the last error, or its code; without batch_id */
      error?: string
      /** these jobs; with state alone */
      ids?: (string)[]
      /** the `next` of the request before */
      after?: string
      /** true: counts the matching jobs, and changes nothing */
      dry_run?: boolean
    }
    answer: BulkActionResult
  }
  /** Cancels a job; a running attempt loses its lease at once */
  'POST /api/v1/jobs/{id}/cancel': {
    role: 'operator'
    params: { id: string }
    answer: JobActionResult
  }
  /** Resumes a stalled job */
  'POST /api/v1/jobs/{id}/resume': {
    role: 'operator'
    params: { id: string }
    answer: JobActionResult
  }
  /** Retries a failed, skipped or cancelled job after its last saved step */
  'POST /api/v1/jobs/{id}/retry': {
    role: 'operator'
    params: { id: string }
    answer: JobActionResult
  }
  /** Runs a final job again from the start, without its saved steps */
  'POST /api/v1/jobs/{id}/rerun': {
    role: 'operator'
    params: { id: string }
    answer: JobActionResult
  }
  /** Skips a job: the job ends as `skipped`, with the reason */
  'POST /api/v1/jobs/{id}/skip': {
    role: 'operator'
    params: { id: string }
    body: {
      reason?: string
    }
    answer: JobActionResult
  }
  /** Submits a batch: each input becomes a job, and the jobs have one progress */
  'POST /api/v1/batches': {
    role: 'operator'
    body: {
      /** the name of a batch definition of the engine */
      name: string
      /** the inputs of the jobs */
      items: (unknown)[]
      /** your own codes, one for each item, such as documents' names */
      refs?: (string)[]
      /** one batch per name and key until 24 h after its end */
      key?: string
      priority?: number
      /** items in one turn, in a queue whose batches take turns */
      weight?: number
      group_key?: string
      /** ISO 8601, with Z or an offset */
      run_at?: string
      delay_seconds?: number
      /** an existing queue, in place of the queue of the kind */
      queue?: string
      /** in place of maxAttempts of the kind */
      max_attempts?: number
      /** in place of the backoff of the kind, part by part */
      backoff?: {
        first_seconds?: number | 0
        factor?: number
        max_seconds?: number
        jitter?: number
      }
      /** in place of the timeout of the kind */
      timeout_seconds?: number
      /** the retention after the final state: one value, or a value for each final state */
      retention_seconds?: number | {
        succeeded?: number
        failed?: number
        skipped?: number
        cancelled?: number
      }
    }
    answer: {
      id: string
      /** false: the batch already existed with this key */
      created: boolean
      total: number
      /** items without a new job, because another job has the key */
      duplicates: number
    }
  }
  /** Lists batches, the newest first */
  'GET /api/v1/batches': {
    role: 'viewer'
    query: { state?: "submitting" | "waiting" | "running" | "paused" | "stalled" | "succeeded" | "completed_with_failures" | "failed" | "cancelled"; name?: string; limit?: number; after?: string }
    answer: {
      items: (Batch)[]
      next: string | null
    }
  }
  /** Gets a batch with state, counts, rate and time left */
  'GET /api/v1/batches/{id}': {
    role: 'viewer'
    params: { id: string }
    answer: Batch
  }
  /** Explains why a batch does not advance, and whether to wait or to run an action */
  'GET /api/v1/batches/{id}/explain': {
    role: 'viewer'
    params: { id: string }
    answer: Explanation
  }
  /** Explains why a batch does not advance, and whether to wait or to run an action */
  'POST /api/v1/batches/{id}/explain': {
    role: 'viewer'
    params: { id: string }
    answer: Explanation
  }
  /** Lists the items of a batch in order; failed items by cause. A page may have fewer items than `limit` although `next` is set */
  'GET /api/v1/batches/{id}/items': {
    role: 'viewer'
    params: { id: string }
    query: { state?: "waiting" | "running" | "stalled" | "succeeded" | "failed" | "skipped" | "cancelled"; cause?: string; ref?: string; offset?: number; limit?: number; after?: string }
    answer: {
      items: (Job)[]
      next: string | null
    }
  }
  /** Gets the states of the items as letters: one letter for each item up to 5,000 items, samples of 1,000 cells above */
  'GET /api/v1/batches/{id}/map': {
    role: 'viewer'
    params: { id: string }
    answer: {
      id: string
      total: number
      /** items of a cell; 1: a cell is an item */
      items_per_cell: number
      /** letters of a cell */
      samples_per_cell: number
      /** in the order of the list: w waiting, r running, t stalled, s succeeded, f failed, k skipped, c cancelled, - erased */
      states: string
    }
  }
  /** Lists the actions of people on a batch and its items, the newest first */
  'GET /api/v1/batches/{id}/actions': {
    role: 'viewer'
    params: { id: string }
    query: { limit?: number; after?: string }
    answer: {
      items: (BatchAction)[]
      next: string | null
    }
  }
  /** Skips an item: the item ends as `skipped`, with the reason */
  'POST /api/v1/batches/{id}/items/{item}/skip': {
    role: 'operator'
    params: { id: string; item: string }
    body: {
      reason?: string
    }
    answer: JobActionResult
  }
  /** Retries a failed, skipped or cancelled item with a new budget of attempts; saved steps stay */
  'POST /api/v1/batches/{id}/items/{item}/retry': {
    role: 'operator'
    params: { id: string; item: string }
    answer: JobActionResult
  }
  /** Lists the failed items of a batch by cause, each with its last error */
  'GET /api/v1/batches/{id}/failures': {
    role: 'viewer'
    params: { id: string }
    query: { cause?: string; limit?: number; after?: string }
    answer: {
      items: (Failure)[]
      next: string | null
    }
  }
  /** Groups the failed items of a batch by cause, the most frequent first, with an example and some refs; at most 100 causes */
  'GET /api/v1/batches/{id}/failures/causes': {
    role: 'viewer'
    params: { id: string }
    query: { limit?: number; after?: string }
    answer: {
      items: (FailureGroup)[]
      next: string | null
    }
  }
  /** Resumes a paused or a stalled batch; a resume of a stalled batch is counted */
  'POST /api/v1/batches/{id}/resume': {
    role: 'operator'
    params: { id: string }
    answer: {
      id: string
      state: "submitting" | "waiting" | "running" | "paused" | "stalled" | "succeeded" | "completed_with_failures" | "failed" | "cancelled"
      /** by this call */
      changed: boolean
      /** items without a final state, which continue */
      resumed: number
    }
  }
  /** Retries the failed items of a batch, or the failed items of one cause, with a new budget of attempts */
  'POST /api/v1/batches/{id}/retry-failed': {
    role: 'operator'
    params: { id: string }
    body: {
      /** a cause from failures/causes */
      cause?: string
    }
    answer: {
      id: string
      state: "submitting" | "waiting" | "running" | "paused" | "stalled" | "succeeded" | "completed_with_failures" | "failed" | "cancelled"
      /** by this call */
      changed: boolean
      /** items that wait again */
      retried: number
      /** items whose key another job has by now, which stay failed */
      conflicts: number
    }
  }
  /** Pauses a batch: no further item starts; running items continue */
  'POST /api/v1/batches/{id}/pause': {
    role: 'operator'
    params: { id: string }
    answer: {
      id: string
      state: "submitting" | "waiting" | "running" | "paused" | "stalled" | "succeeded" | "completed_with_failures" | "failed" | "cancelled"
      /** by this call */
      changed: boolean
    }
  }
  /** Cancels a batch at once; items follow in chunks, and running attempts lose their lease */
  'POST /api/v1/batches/{id}/cancel': {
    role: 'operator'
    params: { id: string }
    answer: {
      id: string
      state: "submitting" | "waiting" | "running" | "paused" | "stalled" | "succeeded" | "completed_with_failures" | "failed" | "cancelled"
      /** by this call */
      changed: boolean
    }
  }
  /** Changes the priority of the waiting and future items of a batch: 0 is first, 9 last */
  'POST /api/v1/batches/{id}/priority': {
    role: 'operator'
    params: { id: string }
    body: {
      priority: number
    }
    answer: {
      id: string
      state: "submitting" | "waiting" | "running" | "paused" | "stalled" | "succeeded" | "completed_with_failures" | "failed" | "cancelled"
      /** by this call */
      changed: boolean
      moved: number
    }
  }
  /** Lists the queues with their waiting, running and stalled jobs */
  'GET /api/v1/queues': {
    role: 'viewer'
    query: { limit?: number; after?: string }
    answer: {
      items: (Queue)[]
      next: string | null
    }
  }
  /** Lists the groups of a queue that have limits: full groups first, then by running jobs. Of a queue with private jobs only an admin sees groups */
  'GET /api/v1/queues/{name}/groups': {
    role: 'viewer'
    params: { name: string }
    query: { limit?: number }
    answer: {
      items: (GroupUsage)[]
      next: string | null
    }
  }
  /** Pauses a queue: no worker starts its jobs; running jobs continue */
  'POST /api/v1/queues/{name}/pause': {
    role: 'operator'
    params: { name: string }
    answer: {
      queue: string
      paused: boolean
      changed: boolean
    }
  }
  /** Resumes a paused queue */
  'POST /api/v1/queues/{name}/resume': {
    role: 'operator'
    params: { name: string }
    answer: {
      queue: string
      paused: boolean
      changed: boolean
    }
  }
  /** Cancels the waiting jobs of a queue. A request works for some seconds; repeat the request until `done` */
  'POST /api/v1/queues/{name}/clear': {
    role: 'operator'
    params: { name: string }
    body: {
      /** true: counts, and cancels nothing */
      dry_run?: boolean
    }
    answer: {
      queue: string
      /** how many this request cancelled */
      cancelled: number
      /** false: more jobs may remain; repeat the request */
      done: boolean
    }
  }
  /** Replaces the limits of a queue for all workers, also for waiting jobs; {} removes the limits */
  'PUT /api/v1/queues/{name}/limits': {
    role: 'admin'
    params: { name: string }
    body: {
      concurrency?: number
      rate?: {
        limit: number
        per_ms: number
      }
      /** every other property is the name of a group with its own limits */
      per_group?: {
        concurrency?: number
        rate?: {
          limit: number
          per_ms: number
        }
        admit?: {
          limit: number
          per_ms: number
        }
      }
      /** the groups, or the batches, take turns */
      fair?: "group" | "batch"
      /** jobs in one turn, by group or by name of the batch; 1 if not given */
      weights?: { [name: string]: number }
      max_depth?: number
    }
    answer: {
      queue: string
      limits: {
        concurrency?: number
        rate?: {
          limit: number
          per_ms: number
        }
        /** every other property is the name of a group with its own limits */
        per_group?: {
          concurrency?: number
          rate?: {
            limit: number
            per_ms: number
          }
          admit?: {
            limit: number
            per_ms: number
          }
        }
        /** the groups, or the batches, take turns */
        fair?: "group" | "batch"
        /** jobs in one turn, by group or by name of the batch; 1 if not given */
        weights?: { [name: string]: number }
        max_depth?: number
      }
      changed: boolean
    }
  }
  /** Explains why no job of a queue starts, and whether to wait or to run an action */
  'GET /api/v1/queues/{name}/explain': {
    role: 'viewer'
    params: { name: string }
    answer: Explanation
  }
  /** Explains why no job of a queue starts, and whether to wait or to run an action */
  'POST /api/v1/queues/{name}/explain': {
    role: 'viewer'
    params: { name: string }
    answer: Explanation
  }
  /** Lists the live workers, and the workers that died within the last day */
  'GET /api/v1/workers': {
    role: 'viewer'
    query: { limit?: number; after?: string }
    answer: {
      items: ({
        id: string
        host: string
        pid: number
        version: string
        queues: { [name: string]: number }
        /** free slots by queue, at the last heartbeat; only an admin sees queues with private kinds */
        free_slots: { [name: string]: number }
        kinds: (string)[]
        /** ISO 8601, UTC */
        started_at: string
        heartbeat_age_seconds: number
        suspected: boolean
        dead: boolean
        /** null: the worker serves a queue with private kinds, and only an admin sees the number */
        running: number | null
        memory_bytes: number | null
        loop_lag_ms: number | null
        /** null: the worker serves a queue with private kinds, and only an admin sees the number */
        abandoned: number | null
        write_lag_ms: number
        supervised: boolean
        blocked: {
          seconds: number
          job: string | null
          attempt: number | null
          stack: string | null
        } | null
      })[]
      next: string | null
    }
  }
  /** Lists the providers that asked jobs to wait or stopped, with their present state */
  'GET /api/v1/providers': {
    role: 'viewer'
    query: { limit?: number; after?: string }
    answer: {
      items: ({
        name: string
        state: "open" | "waiting" | "stopped"
        /** kinds of the jobs that met the wait or the stop */
        kinds: (string)[]
        wait_until: string | null
        /** waits in a row, without an answer in between */
        consecutive_waits: number
        /** the instant of the first of the consecutive waits */
        waits_since: string | null
        stopped_at: string | null
        /** the instant of the next probe of a stopped provider */
        probe_at: string | null
        code: string | null
        message: string | null
        /** ISO 8601, UTC */
        at: string
        /** the error of the last probe of a stopped provider */
        probe_error: string | null
        probe_error_at: string | null
      })[]
      next: string | null
    }
  }
  /** Ends the wait or the stop of a provider; the jobs and batches that wait for the provider continue */
  'POST /api/v1/providers/{name}/clear': {
    role: 'operator'
    params: { name: string }
    answer: {
      name: string
      state: "open"
      changed: boolean
    }
  }
  /** Lists the schedules by name, with recurrence, next occurrence and last job */
  'GET /api/v1/schedules': {
    role: 'viewer'
    query: { limit?: number; after?: string }
    answer: {
      items: (Schedule)[]
      next: string | null
    }
  }
  /** Gets the next occurrences of a schedule, and the recurrence in words */
  'GET /api/v1/schedules/{name}/occurrences': {
    role: 'viewer'
    params: { name: string }
    query: { count?: number }
    answer: {
      name: string
      words: string
      time_zone: string | null
      items: (string)[]
      next: null
    }
  }
  /** Lists the last ten jobs of a schedule, by recurrence or by hand, the newest first */
  'GET /api/v1/schedules/{name}/runs': {
    role: 'viewer'
    params: { name: string }
    answer: {
      items: (Job)[]
      next: null
    }
  }
  /** Pauses a schedule: its occurrences pass without a job, in every process */
  'POST /api/v1/schedules/{name}/pause': {
    role: 'operator'
    params: { name: string }
    answer: {
      name: string
      paused: boolean
      changed: boolean
    }
  }
  /** Resumes a paused schedule with the next occurrence; missed occurrences stay missed */
  'POST /api/v1/schedules/{name}/resume': {
    role: 'operator'
    params: { name: string }
    answer: {
      name: string
      paused: boolean
      changed: boolean
    }
  }
  /** Enqueues the job of a schedule now; the next occurrence stays */
  'POST /api/v1/schedules/{name}/run': {
    role: 'operator'
    params: { name: string }
    answer: {
      id: string
      created: boolean
    }
  }
  /** Lists the guards by name, with the watched table and the last sweep */
  'GET /api/v1/guards': {
    role: 'viewer'
    query: { limit?: number; after?: string }
    answer: {
      items: (Guard)[]
      next: string | null
    }
  }
  /** Sweeps the table of a guard now and marks the lost rows; with `dry_run` only lists the rows */
  'POST /api/v1/guards/{name}/run': {
    role: 'operator'
    params: { name: string }
    body: {
      dry_run?: boolean
    }
    answer: GuardRun
  }
  /** Counts waiting, running and stalled jobs by queue and kind, and the workers. Only an admin sees the counts of queues with private kinds */
  'GET /api/v1/stats': {
    role: 'viewer'
    answer: {
      queues: ({
        queue: string
        /** null: the queue has private kinds, and only an admin sees counts */
        ready: number | null
        /** null: the queue has private kinds, and only an admin sees counts */
        scheduled: number | null
        /** null: the queue has private kinds, and only an admin sees counts */
        running: number | null
        /** null: the queue has private kinds, and only an admin sees counts */
        stalled: number | null
        /** the waiting time of the oldest ready job; null: no job is ready */
        oldest_ready_seconds: number | null
      })[]
      kinds: ({
        kind: string
        ready: number
        scheduled: number
        running: number
        stalled: number
      })[]
      oldest_ready_seconds: number | null
      workers: number
      /** attempts with a running handler; null: there are private kinds, and only an admin sees the number */
      in_flight: number | null
      watchdog_lag_seconds: number | null
      /** the number of the newest migration of the schema retoma */
      schema_version: number
      sampled_at: string | null
    }
  }
  /** Gets attempts, durations and waiting times by queue over time: by minute for 48 hours, by hour for 90 days. Only an admin sees queues with private kinds */
  'GET /api/v1/stats/history': {
    role: 'viewer'
    query: { queue?: string; from?: string; to?: string; step?: number }
    answer: {
      /** ISO 8601, UTC */
      from: string
      /** ISO 8601, UTC */
      to: string
      step_seconds: number
      /** upper bounds of the buckets */
      bucket_seconds: (number)[]
      queues: ({
        queue: string
        /** oldest first; a step without any count has no point */
        points: (HistoryPoint)[]
      })[]
      /** the sum over these queues */
      total: (HistoryPoint)[]
    }
  }
  /** Gets the health in one sentence, with every present problem, the worst first */
  'GET /api/v1/stats/health': {
    role: 'viewer'
    answer: {
      severity: "ok" | "info" | "warning" | "critical"
      sentence: string
      since: string | null
      problems: (Problem)[]
    }
  }
  /** Lists the incidents of the last 30 days, the newest first. Incidents are stored if a webhook for notices is set */
  'GET /api/v1/incidents': {
    role: 'viewer'
    query: { open?: "true" | "false"; limit?: number; after?: string }
    answer: {
      items: (Incident)[]
      next: string | null
    }
  }
  /** Lists the findings of the watchdog that need a person: hung, slow and starved jobs, the oldest first */
  'GET /api/v1/findings': {
    role: 'viewer'
    query: { limit?: number; after?: string }
    answer: {
      items: (Finding)[]
      next: string | null
    }
  }
  /** Groups the 1,000 newest failed jobs of all queues by cause, the most frequent cause first */
  'GET /api/v1/failures/causes': {
    role: 'viewer'
    query: { limit?: number; after?: string }
    answer: {
      items: (FailureCause)[]
      next: string | null
    }
  }
  /** Runs the checks of `retoma doctor` on the database: version, clock, schema, rights, disk, workers and more */
  'GET /api/v1/doctor': {
    role: 'admin'
    answer: {
      /** no check failed */
      ok: boolean
      failures: number
      warnings: number
      checks: ({
        check: string
        verdict: "ok" | "warning" | "failure" | "unseen"
        sentence: string
        advice: string | null
      })[]
    }
  }
  /** Streams the failures and actions of all jobs and batches */
  'GET /api/v1/events': {
    role: 'viewer'
    query: { after?: string; last_event_id?: string }
    answer: unknown
  }
  /** Streams the events of a batch until the batch is final */
  'GET /api/v1/batches/{id}/events': {
    role: 'viewer'
    params: { id: string }
    query: { after?: string; last_event_id?: string }
    answer: unknown
  }
  /** Streams the events of a job until the job is final */
  'GET /api/v1/jobs/{id}/events': {
    role: 'viewer'
    params: { id: string }
    query: { after?: string; last_event_id?: string; logs?: "true" | "false" }
    answer: unknown
  }
  /** Logs in with a token: sets a cookie for a week */
  'POST /api/v1/login': {
    role: 'open'
    body: {
      token: string
    }
    answer: {
      user: string
      role: "viewer" | "operator" | "admin"
      /** ISO 8601, UTC */
      expires_at: string
    }
  }
  /** Logs out: the cookie is no longer valid */
  'POST /api/v1/logout': {
    role: 'open'
    answer: undefined
  }
  /** Gets the user, the role and the kind of credential of the request */
  'GET /api/v1/me': {
    role: 'viewer'
    answer: {
      user: string
      role: "viewer" | "operator" | "admin"
      via: "token" | "cookie" | "open" | "host"
    }
  }
  /** Lists the tokens with the revoked tokens, the newest first */
  'GET /api/v1/tokens': {
    role: 'admin'
    query: { limit?: number; after?: string; user?: string; role?: "viewer" | "operator" | "admin"; live?: string }
    answer: {
      items: ({
        id: string
        user: string
        role: "viewer" | "operator" | "admin"
        /** the first characters of the token */
        shown: string
        /** ISO 8601, UTC */
        created_at: string
        created_by: string | null
        /** to the minute */
        used_at: string | null
        revoked_at: string | null
      })[]
      next: string | null
    }
  }
  /** Creates a token; only this response contains the secret */
  'POST /api/v1/tokens': {
    role: 'admin'
    body: {
      user: string
      role: "viewer" | "operator" | "admin"
    }
    answer: {
      id: string
      user: string
      role: "viewer" | "operator" | "admin"
      /** the first characters of the token */
      shown: string
      /** ISO 8601, UTC */
      created_at: string
      created_by: string | null
      /** to the minute */
      used_at: string | null
      revoked_at: string | null
      /** null: a repetition of the request with the same Idempotency-Key; the first response had the token */
      token: string | null
    }
  }
  /** Revokes a token and ends its sessions */
  'DELETE /api/v1/tokens/{id}': {
    role: 'admin'
    params: { id: string }
    answer: {
      id: string
      user: string
      role: "viewer" | "operator" | "admin"
      /** the first characters of the token */
      shown: string
      /** ISO 8601, UTC */
      created_at: string
      created_by: string | null
      /** to the minute */
      used_at: string | null
      revoked_at: string | null
      changed: boolean
    }
  }
  /** Revokes a token and ends its sessions */
  'POST /api/v1/tokens/{id}/revoke': {
    role: 'admin'
    params: { id: string }
    answer: {
      id: string
      user: string
      role: "viewer" | "operator" | "admin"
      /** the first characters of the token */
      shown: string
      /** ISO 8601, UTC */
      created_at: string
      created_by: string | null
      /** to the minute */
      used_at: string | null
      revoked_at: string | null
      changed: boolean
    }
  }
  /** One pass of watchdog, scheduler and janitor; with work, ready jobs run too; takes ten seconds where a worker is silent */
  'GET /api/v1/cron/tick': {
    role: 'cron'
    query: { secret?: string; work?: string; queues?: string }
    answer: {
      /** workers declared dead */
      dead: (string)[]
      recovered: (string)[]
      timed_out: (string)[]
      stalled: (string)[]
      overdue: (string)[]
      batches: ({
        id: string
      })[]
      findings: (Record<string, unknown>)[]
      /** the attempts of this request; null without work */
      work: {
        attempts: number
        succeeded: number
        skipped: number
        failed: number
        retried: number
        deferred: number
        /** jobs released because the time was up */
        released: number
        /** no job was ready at the end; false: the time was up, or ready jobs wait for a rate */
        empty: boolean
      } | null
    }
  }
  /** One pass of watchdog, scheduler and janitor; with work, ready jobs run too; takes ten seconds where a worker is silent */
  'POST /api/v1/cron/tick': {
    role: 'cron'
    query: { secret?: string; work?: string; queues?: string }
    answer: {
      /** workers declared dead */
      dead: (string)[]
      recovered: (string)[]
      timed_out: (string)[]
      stalled: (string)[]
      overdue: (string)[]
      batches: ({
        id: string
      })[]
      findings: (Record<string, unknown>)[]
      /** the attempts of this request; null without work */
      work: {
        attempts: number
        succeeded: number
        skipped: number
        failed: number
        retried: number
        deferred: number
        /** jobs released because the time was up */
        released: number
        /** no job was ready at the end; false: the time was up, or ready jobs wait for a rate */
        empty: boolean
      } | null
    }
  }
  /** Gets the principal of the request, and the systems, the version and the time of the server */
  'GET /api/v1/session': {
    role: 'viewer'
    answer: {
      user: string
      role: "viewer" | "operator" | "admin"
      via: "token" | "cookie" | "open" | "host"
      language: "en" | "pt"
      version: string
      /** ISO 8601, UTC */
      now: string
      systems: ({
        name: string
        /** the path of the page of the system, below the base path */
        page: string | null
        simulated: (string)[]
      })[]
      /** outside services without a key, whose responses are simulated */
      simulated: (string)[]
    }
  }
  /** Creates a project: categories, instructions for the AI, and the number of attempts */
  'POST /projetos': {
    role: 'operator'
    body: {
      nome: string
      /** they differ in more than case and accents */
      categorias: (string)[]
      instrucoes?: string
      modelo?: string | null
      max_retries_execucao?: number
      max_retries_documento?: number
      /** a text or a number of dollars above zero; null: no limit */
      limite_custo_usd?: number | string | null
      /** documents of an execution in one of its turns */
      peso?: number
      /** an answer with less confidence asks for a review; null: none does */
      revisar_abaixo_de?: number | null
      /** a document may have several categories */
      varias_categorias?: boolean
      /** how many corrections of a person are shown to the AI as examples, at most */
      exemplos?: number
      /** scanned pages and images are read by OCR */
      ocr?: boolean
      /** pages of a document that OCR reads at most, within 30 s of processor time */
      ocr_max_paginas?: number
      /** the pages of a PDF or TIFF that count, such as "1-3,7,-1"; a negative number counts from the end; null: all pages */
      paginas?: string | null
    }
    answer: Projeto
  }
  /** Lists projects, the newest first. A page of large projects may have fewer projects than its limit, although `next` is set */
  'GET /projetos': {
    role: 'viewer'
    query: { limit?: number; after?: string }
    answer: {
      items: (Projeto)[]
      next: string | null
      simulado?: true
    }
  }
  /** Gets a project */
  'GET /projetos/{id}': {
    role: 'viewer'
    params: { id: string }
    answer: Projeto
  }
  /** Changes the given fields of a project; existing executions keep their settings */
  'PATCH /projetos/{id}': {
    role: 'operator'
    params: { id: string }
    body: {
      nome?: string
      /** they differ in more than case and accents */
      categorias?: (string)[]
      instrucoes?: string
      modelo?: string | null
      max_retries_execucao?: number
      max_retries_documento?: number
      /** a text or a number of dollars above zero; null: no limit */
      limite_custo_usd?: number | string | null
      /** documents of an execution in one of its turns */
      peso?: number
      /** an answer with less confidence asks for a review; null: none does */
      revisar_abaixo_de?: number | null
      /** a document may have several categories */
      varias_categorias?: boolean
      /** how many corrections of a person are shown to the AI as examples, at most */
      exemplos?: number
      /** scanned pages and images are read by OCR */
      ocr?: boolean
      /** pages of a document that OCR reads at most, within 30 s of processor time */
      ocr_max_paginas?: number
      /** the pages of a PDF or TIFF that count, such as "1-3,7,-1"; a negative number counts from the end; null: all pages */
      paginas?: string | null
    }
    answer: Projeto
  }
  /** A project goes, at the latest with the last of its executions, which stay */
  'DELETE /projetos/{id}': {
    role: 'operator'
    params: { id: string }
    answer: undefined
  }
  /** Creates an execution from files in a form (PDF, text, Office, mail, images, ZIP) or texts in JSON */
  'POST /execucoes': {
    role: 'operator'
    body: {
      projeto_id: string | number
      /** a paid answer to the same bytes is used again */
      reaproveitar?: boolean
      /** 0 (first) to 9: executions of a priority take turns */
      prioridade?: number
      /** an http or https address that gets a signed message at the end of the execution */
      webhook_url?: string
      /** signs the message (HMAC-SHA256); never shown again */
      webhook_segredo?: string
      /** only so many documents, chosen evenly, are classified; the others are PULADO */
      amostra?: number
      /** the pages of a PDF or TIFF that count, such as "1-3,7,-1"; a negative number counts from the end; null: all pages */
      paginas?: string | null
      /** 1 to 2000; codigo is made unique and at most 100 characters */
      documentos: ({
        codigo: string
        texto: string
      })[]
    }
    answer: {
      id: string
      status: "PENDENTE" | "EM_ANDAMENTO" | "PAUSADO" | "TRAVADO" | "CONCLUIDO" | "ERRO" | "CANCELADO"
      total: number
      /** answered without the AI, because it has no key */
      simulado: boolean
    }
  }
  /** Lists executions, the newest first */
  'GET /execucoes': {
    role: 'viewer'
    query: { projeto_id?: string; status?: "PENDENTE" | "EM_ANDAMENTO" | "PAUSADO" | "TRAVADO" | "CONCLUIDO" | "ERRO" | "CANCELADO"; limit?: number; after?: string }
    answer: {
      items: (Execucao)[]
      next: string | null
      simulado?: true
    }
  }
  /** Gets an execution with status, counts and cost */
  'GET /execucoes/{id}': {
    role: 'viewer'
    params: { id: string }
    answer: Execucao
  }
  /** Erases a finished execution: documents, files, results, bought answers, errors and events */
  'DELETE /execucoes/{id}': {
    role: 'operator'
    params: { id: string }
    answer: undefined
  }
  /** Changes the priority of an unfinished execution: 0 is first; executions of the same priority take turns */
  'PATCH /execucoes/{id}': {
    role: 'operator'
    params: { id: string }
    body: {
      /** 0 (first) to 9: executions of a priority take turns */
      prioridade: number
    }
    answer: Execucao
  }
  /** Gets the status in detail: counts, last heartbeat, recent errors, and whether to wait or which action to run */
  'GET /execucoes/{id}/status-detalhado': {
    role: 'viewer'
    params: { id: string }
    answer: StatusDetalhado
  }
  /** Lists the documents of an execution in the order of the upload, with their status */
  'GET /execucoes/{id}/documentos': {
    role: 'viewer'
    params: { id: string }
    query: { status?: "PENDENTE" | "PROCESSANDO" | "CONCLUIDO" | "ERRO" | "PULADO"; categoria?: string; revisar?: string; revisao?: "ACEITO" | "CORRIGIDO"; busca?: string; confianca_abaixo_de?: number; limit?: number; after?: string }
    answer: {
      items: (Documento)[]
      next: string | null
      simulado?: true
    }
  }
  /** Downloads a document as it was sent */
  'GET /execucoes/{id}/documentos/{codigo}/arquivo': {
    role: 'viewer'
    params: { id: string; codigo: string }
    answer: unknown
  }
  /** Replaces the file of a document; the document runs again, without its answer and review */
  'PUT /execucoes/{id}/documentos/{codigo}/arquivo': {
    role: 'operator'
    params: { id: string; codigo: string }
    answer: Documento
  }
  /** Lists the documents with an error, each with the last error; the stack and the raw answer of the AI only for operators and admins */
  'GET /execucoes/{id}/erros': {
    role: 'viewer'
    params: { id: string }
    query: { limit?: number; after?: string }
    answer: {
      total: number
      documentos: (ErroDeDocumento)[]
      next: string | null
      simulado?: true
    }
  }
  /** Lists the category, the confidence and the cost of each document */
  'GET /execucoes/{id}/resultados': {
    role: 'viewer'
    params: { id: string }
    query: { status?: "PENDENTE" | "PROCESSANDO" | "CONCLUIDO" | "ERRO" | "PULADO"; categoria?: string; revisar?: string; revisao?: "ACEITO" | "CORRIGIDO"; busca?: string; confianca_abaixo_de?: number; limit?: number; after?: string }
    answer: {
      items: (Resultado)[]
      next: string | null
      simulado?: true
    }
  }
  /** Counts the documents of each category, the documents to review, and the cost */
  'GET /execucoes/{id}/categorias': {
    role: 'viewer'
    params: { id: string }
    answer: {
      items: (ContagemDeCategoria)[]
      /** documents without an answer */
      sem_categoria: number
      simulado?: true
    }
  }
  /** Exports the results as CSV for a spreadsheet: UTF-8, semicolons, decimal commas, no formulas */
  'GET /execucoes/{id}/resultados.csv': {
    role: 'viewer'
    params: { id: string }
    query: { status?: "PENDENTE" | "PROCESSANDO" | "CONCLUIDO" | "ERRO" | "PULADO"; categoria?: string; revisar?: string; revisao?: "ACEITO" | "CORRIGIDO"; busca?: string; confianca_abaixo_de?: number }
    answer: unknown
  }
  /** Exports the results as XLSX; no cell is a formula */
  'GET /execucoes/{id}/resultados.xlsx': {
    role: 'viewer'
    params: { id: string }
    query: { status?: "PENDENTE" | "PROCESSANDO" | "CONCLUIDO" | "ERRO" | "PULADO"; categoria?: string; revisar?: string; revisao?: "ACEITO" | "CORRIGIDO"; busca?: string; confianca_abaixo_de?: number }
    answer: unknown
  }
  /** Resumes an execution with status TRAVADO; the resume is counted */
  'POST /execucoes/{id}/retomar': {
    role: 'operator'
    params: { id: string }
    body: {
      /** the model that documents which are not done are asked of from then on */
      modelo?: string
    }
    answer: {
      id: string
      status: "PENDENTE" | "EM_ANDAMENTO" | "PAUSADO" | "TRAVADO" | "CONCLUIDO" | "ERRO" | "CANCELADO"
      tentativas_retry: number
      max_retries: number
      /** the model that documents which are not done are asked of; null: the one of OPENROUTER_MODEL */
      modelo: string | null
      /** answered without the AI, because it has no key */
      simulado: boolean
      /** documents that are not final and go on */
      retomados: number
    }
  }
  /** Retries the documents with an error, with new attempts; bought answers are not bought again */
  'POST /execucoes/{id}/reprocessar-erros': {
    role: 'operator'
    params: { id: string }
    body: {
      /** the model that documents which are not done are asked of from then on */
      modelo?: string
    }
    answer: {
      id: string
      status: "PENDENTE" | "EM_ANDAMENTO" | "PAUSADO" | "TRAVADO" | "CONCLUIDO" | "ERRO" | "CANCELADO"
      tentativas_retry: number
      max_retries: number
      /** the model that documents which are not done are asked of; null: the one of OPENROUTER_MODEL */
      modelo: string | null
      /** answered without the AI, because it has no key */
      simulado: boolean
      /** documents that wait again */
      reprocessados: number
    }
  }
  /** Pauses an execution: no further document starts; running documents continue */
  'POST /execucoes/{id}/pausar': {
    role: 'operator'
    params: { id: string }
    answer: {
      id: string
      status: "PENDENTE" | "EM_ANDAMENTO" | "PAUSADO" | "TRAVADO" | "CONCLUIDO" | "ERRO" | "CANCELADO"
      tentativas_retry: number
      max_retries: number
      /** the model that documents which are not done are asked of; null: the one of OPENROUTER_MODEL */
      modelo: string | null
      /** answered without the AI, because it has no key */
      simulado: boolean
    }
  }
  /** Continues an execution with status PAUSADO; after a pause by the cost limit the limit is granted once more */
  'POST /execucoes/{id}/continuar': {
    role: 'operator'
    params: { id: string }
    body: {
      /** the model that documents which are not done are asked of from then on */
      modelo?: string
    }
    answer: {
      id: string
      status: "PENDENTE" | "EM_ANDAMENTO" | "PAUSADO" | "TRAVADO" | "CONCLUIDO" | "ERRO" | "CANCELADO"
      tentativas_retry: number
      max_retries: number
      /** the model that documents which are not done are asked of; null: the one of OPENROUTER_MODEL */
      modelo: string | null
      /** answered without the AI, because it has no key */
      simulado: boolean
    }
  }
  /** Cancels an execution at once; finished documents keep their results */
  'POST /execucoes/{id}/cancelar': {
    role: 'operator'
    params: { id: string }
    answer: {
      id: string
      status: "PENDENTE" | "EM_ANDAMENTO" | "PAUSADO" | "TRAVADO" | "CONCLUIDO" | "ERRO" | "CANCELADO"
      tentativas_retry: number
      max_retries: number
      /** the model that documents which are not done are asked of; null: the one of OPENROUTER_MODEL */
      modelo: string | null
      /** answered without the AI, because it has no key */
      simulado: boolean
    }
  }
  /** Streams the events of an execution until its end */
  'GET /execucoes/{id}/eventos': {
    role: 'viewer'
    params: { id: string }
    query: { after?: string; last_event_id?: string }
    answer: unknown
  }
  /** Gets a document in detail; the raw answer of the AI only for operators and admins */
  'GET /execucoes/{id}/documentos/{codigo}': {
    role: 'viewer'
    params: { id: string; codigo: string }
    answer: DocumentoEmDetalhe
  }
  /** Corrects a document's category by hand, or accepts it; what the AI answered is kept beside it */
  'PATCH /execucoes/{id}/documentos/{codigo}': {
    role: 'operator'
    params: { id: string; codigo: string }
    body: {
      /** a category of the execution; null takes the review back */
      categoria?: string | null
      /** in place of categoria, where a document may have several; the main one first */
      categorias?: (string)[]
    }
    answer: Documento
  }
  /** Retries a document with status ERRO or PULADO; bought answers are not bought again */
  'POST /execucoes/{id}/documentos/{codigo}/reprocessar': {
    role: 'operator'
    params: { id: string; codigo: string }
    answer: Documento
  }
  /** Skips an unfinished document: status PULADO, with the reason */
  'POST /execucoes/{id}/documentos/{codigo}/pular': {
    role: 'operator'
    params: { id: string; codigo: string }
    body: {
      motivo?: string
    }
    answer: Documento
  }
  /** Runs all or some documents of an execution again without an upload, with other settings */
  'POST /execucoes/{id}/nova': {
    role: 'operator'
    params: { id: string }
    body: {
      /** another model; null: the one of OPENROUTER_MODEL */
      modelo?: string | null
      instrucoes?: string
      /** they differ in more than case and accents */
      categorias?: (string)[]
      limite_custo_usd?: number | string | null
      /** 0 (first) to 9: executions of a priority take turns */
      prioridade?: number
      /** a paid answer to the same bytes with the same model, categories and instructions is used again */
      reaproveitar?: boolean
      /** an http or https address that gets a signed message at the end of the execution */
      webhook_url?: string
      /** signs the message (HMAC-SHA256); never shown again */
      webhook_segredo?: string
      /** only so many documents, chosen evenly, are classified; the others are PULADO */
      amostra?: number
      /** the pages of a PDF or TIFF that count, such as "1-3,7,-1"; a negative number counts from the end; null: all pages */
      paginas?: string | null
      /** only documents that are ERRO */
      somente_erros?: boolean
      /** only documents of this category */
      somente_categoria?: string
      /** only documents answered with less confidence */
      confianca_abaixo_de?: number
      /** only these documents */
      codigos?: (string)[]
      /** only documents that a sample left out */
      fora_da_amostra?: boolean
    }
    answer: {
      id: string
      status: "PENDENTE" | "EM_ANDAMENTO" | "PAUSADO" | "TRAVADO" | "CONCLUIDO" | "ERRO" | "CANCELADO"
      total: number
      origem_id: string
      /** answered without the AI, because it has no key */
      simulado: boolean
    }
  }
  /** Compares two executions: agreement, changed documents and the cost of each */
  'GET /execucoes/{a}/comparar/{b}': {
    role: 'viewer'
    params: { a: string; b: string }
    query: { limit?: number; after?: string }
    answer: Comparacao
  }
  /** Accepts answers without a review: all, or by category, confidence or code */
  'POST /execucoes/{id}/aceitar': {
    role: 'operator'
    params: { id: string }
    body: {
      codigos?: (string)[]
      /** only answers with this category */
      categoria?: string
      /** only answers with this confidence or more */
      confianca_minima?: number
    }
    answer: {
      id: string
      aceitos: number
      /** answered without the AI, because it has no key */
      simulado: boolean
    }
  }
  /** Measures how often the AI was right, by model and category, from the reviews of people */
  'GET /projetos/{id}/precisao': {
    role: 'viewer'
    params: { id: string }
    query: { execucao_id?: string }
    answer: Precisao
  }
  /** What documents of these sizes would cost and take, by the latest answers of the model */
  'POST /projetos/{id}/estimativa': {
    role: 'viewer'
    params: { id: string }
    body: {
      documentos: ({
        nome?: string
        bytes: number
      })[]
      modelo?: string
    }
    answer: Estimativa
  }
  /** Estimates the cost and the time of another run of all or some documents */
  'POST /execucoes/{id}/estimativa': {
    role: 'viewer'
    params: { id: string }
    body: {
      modelo?: string
      /** only so many documents, chosen evenly, are classified; the others are PULADO */
      amostra?: number
      /** only documents that are ERRO */
      somente_erros?: boolean
      /** only documents of this category */
      somente_categoria?: string
      /** only documents answered with less confidence */
      confianca_abaixo_de?: number
      /** only these documents */
      codigos?: (string)[]
      /** only documents that a sample left out */
      fora_da_amostra?: boolean
    }
    answer: Estimativa
  }
  /** Shows the question that the AI would get for a document of the next execution */
  'GET /projetos/{id}/prompt': {
    role: 'viewer'
    params: { id: string }
    answer: Prompt
  }
  /** Shows the question that the AI gets for a document of this execution; with `codigo`, for the named document */
  'GET /execucoes/{id}/prompt': {
    role: 'viewer'
    params: { id: string }
    query: { codigo?: string }
    answer: Prompt
  }
  /** Creates a quote for a product or a vehicle */
  'POST /api/quotes': {
    role: 'operator'
    body: {
      /** the product or the vehicle, in a sentence */
      description: string
      /** omitted: the analysis decides */
      kind?: "vehicle" | "product"
    }
    answer: {
      id: string
      status: "PENDING" | "PROCESSING" | "DONE" | "ERROR" | "CANCELLED"
      /** a provider without a key was simulated on this machine */
      simulado: boolean
    }
  }
  /** Quotes, the newest first. With a status a page may have fewer quotes than its limit, or none, although `next` is set */
  'GET /api/quotes': {
    role: 'viewer'
    query: { status?: "PENDING" | "PROCESSING" | "DONE" | "ERROR" | "CANCELLED"; batch_id?: string; values?: "short"; limit?: number; after?: string }
    answer: {
      items: (ListedQuote)[]
      next: string | null
    }
  }
  /** Gets a quote with checkpoint, prices and result */
  'GET /api/quotes/{id}': {
    role: 'viewer'
    params: { id: string }
    answer: Quote
  }
  /** Erases a quote: description, answers, prices, pages, steps, failures and events; one that is not over is cancelled first */
  'DELETE /api/quotes/{id}': {
    role: 'operator'
    params: { id: string }
    answer: undefined
  }
  /** Downloads a price page as it was when the price was read, compressed with gzip */
  'GET /api/quotes/{id}/pages/{n}': {
    role: 'viewer'
    params: { id: string; n: string }
    answer: unknown
  }
  /** A picture of a price page, if CHROMIUM_PATH is set */
  'GET /api/quotes/{id}/pages/{n}/screenshot': {
    role: 'viewer'
    params: { id: string; n: string }
    answer: unknown
  }
  /** Cancels an unfinished quote; prices that were found stay */
  'POST /api/quotes/{id}/cancel': {
    role: 'operator'
    params: { id: string }
    answer: {
      id: string
      status: "PENDING" | "PROCESSING" | "DONE" | "ERROR" | "CANCELLED"
    }
  }
  /** Puts a quote in ERROR or CANCELLED back into the queue; the quote continues from its checkpoint */
  'POST /api/quotes/{id}/retry': {
    role: 'operator'
    params: { id: string }
    answer: {
      id: string
      status: "PENDING" | "PROCESSING" | "DONE" | "ERROR" | "CANCELLED"
    }
  }
  /** Up to 10000 quotes with one progress */
  'POST /api/quotes/batch': {
    role: 'operator'
    body: {
      quotes: ({
        /** the product or the vehicle, in a sentence */
        description: string
        /** omitted: the analysis decides */
        kind?: "vehicle" | "product"
      })[]
    }
    answer: {
      id: string
      total: number
      /** a provider without a key was simulated on this machine */
      simulado: boolean
    }
  }
  /** Exports the quotes of a batch as CSV for a spreadsheet: UTF-8, semicolons, decimal commas, no formulas */
  'GET /api/quotes/batch/{id}/results.csv': {
    role: 'viewer'
    params: { id: string }
    answer: unknown
  }
  /** Cancels the unfinished quotes of a batch; finished quotes keep their results */
  'POST /api/quotes/batch/{id}/cancel': {
    role: 'operator'
    params: { id: string }
    answer: {
      id: string
      status: "PENDING" | "PROCESSING" | "DONE" | "ERROR" | "CANCELLED" | "PAUSED"
    }
  }
  /** Erases a finished batch with all its quotes */
  'DELETE /api/quotes/batch/{id}': {
    role: 'operator'
    params: { id: string }
    answer: undefined
  }
  /** Streams the events of a quote until its end */
  'GET /api/quotes/{id}/events': {
    role: 'viewer'
    params: { id: string }
    query: { after?: string; last_event_id?: string }
    answer: unknown
  }
  /** Streams the events of a batch of quotes until its end */
  'GET /api/quotes/batch/{id}/events': {
    role: 'viewer'
    params: { id: string }
    query: { after?: string; last_event_id?: string }
    answer: unknown
  }
  /** That the server answers */
  'GET /api/system/health': {
    role: 'open'
    answer: {
      status: "ok"
    }
  }
  /** Quotes that are PROCESSING, how many of them are stuck, where they stand, and how long a quote takes */
  'GET /api/system/processing-stats': {
    role: 'viewer'
    answer: {
      total_processing: number
      stuck_count: number
      /** quotes that are PROCESSING, by checkpoint */
      by_checkpoint: { [name: string]: number }
      /** of the quotes that were DONE in the last hour; null: none */
      avg_processing_time_seconds: number | null
    }
  }
  /** Quotes that are PROCESSING without a sign of life for more than ten minutes */
  'GET /api/system/stuck-quotes': {
    role: 'viewer'
    query: { limit?: number; after?: string }
    answer: {
      items: (StuckQuote)[]
      next: string | null
    }
  }
  /** Stuck quotes go back to the queue now, as recover_stuck_quotes does every five minutes */
  'POST /api/system/recover-stuck': {
    role: 'operator'
    answer: {
      recovered: number
      ids: (string)[]
    }
  }
  /** A stuck quote goes back to the queue; one that is not stuck stays as it is */
  'POST /api/system/recover-quote/{id}': {
    role: 'operator'
    params: { id: string }
    answer: {
      id: string
      status: "PENDING" | "PROCESSING" | "DONE" | "ERROR" | "CANCELLED"
      recovered: boolean
    }
  }
  /** A batch that was paused goes on, and its stuck quotes go back to the queue */
  'POST /api/system/resume-batch/{id}': {
    role: 'operator'
    params: { id: string }
    answer: {
      id: string
      /** quotes that go on because of this request */
      resumed: number
    }
  }
  /** A batch: its counts, where its quotes stand, and how long it will take */
  'GET /api/system/batch-status/{id}': {
    role: 'viewer'
    params: { id: string }
    answer: {
      id: string
      status: "PENDING" | "PROCESSING" | "DONE" | "ERROR" | "CANCELLED" | "PAUSED"
      total: number
      pending: number
      processing: number
      done: number
      error: number
      cancelled: number
      /** quotes that are PROCESSING, by checkpoint */
      by_checkpoint: { [name: string]: number }
      /** of a hundred, how many are over */
      percent: number
      last_heartbeat: string | null
      eta_seconds: number | null
      /** why a batch is PAUSED: the words of a provider, or a person */
      reason: {
        code: string
      } | null
      /** a provider without a key was simulated on this machine */
      simulado: boolean
    }
  }
  /** Quotes whose processing began more than 24 hours ago are ERROR now, as cleanup_old_processing does every night */
  'POST /api/system/cleanup-old': {
    role: 'operator'
    answer: {
      marked: number
    }
  }
  /** Creates a document from a PDF; the response comes before the processing begins */
  'POST /api/documents': {
    role: 'operator'
    answer: {
      id: string
      status: "PENDING" | "PROCESSING" | "DONE" | "FAILED"
      duplicate_of: string | null
    }
  }
  /** Lists the documents of the user, the newest first; an admin sees the documents of all users */
  'GET /api/documents': {
    role: 'viewer'
    query: { status?: "PENDING" | "PROCESSING" | "DONE" | "FAILED"; q?: string; limit?: number; after?: string }
    answer: {
      items: (Document)[]
      next: string | null
    }
  }
  /** Gets a document with status and facts of the file */
  'GET /api/documents/{id}': {
    role: 'viewer'
    params: { id: string }
    answer: Document
  }
  /** Erases a document: file, text, picture, steps, failures and events */
  'DELETE /api/documents/{id}': {
    role: 'operator'
    params: { id: string }
    answer: undefined
  }
  /** Gets the text of a document */
  'GET /api/documents/{id}/text': {
    role: 'viewer'
    params: { id: string }
    answer: unknown
  }
  /** Downloads a document as it was sent, or a part of the file with Range */
  'GET /api/documents/{id}/download': {
    role: 'viewer'
    params: { id: string }
    answer: unknown
  }
  /** Gets a picture of the first page (WebP) */
  'GET /api/documents/{id}/thumbnail': {
    role: 'viewer'
    params: { id: string }
    answer: unknown
  }
  /** Processes a document again; a waiting or running document stays as it is */
  'POST /api/documents/{id}/reprocess': {
    role: 'operator'
    params: { id: string }
    answer: {
      id: string
      status: "PENDING" | "PROCESSING" | "DONE" | "FAILED"
    }
  }
  /** Marks documents FAILED that are PROCESSING without progress for ten minutes */
  'GET /api/cron/watchdog-documents': {
    role: 'cron'
    query: { secret?: string }
    answer: {
      marked: number
      /** the first 1,000 of them */
      ids: (string)[]
    }
  }
  /** Marks documents FAILED that are PROCESSING without progress for ten minutes */
  'POST /api/cron/watchdog-documents': {
    role: 'cron'
    query: { secret?: string }
    answer: {
      marked: number
      /** the first 1,000 of them */
      ids: (string)[]
    }
  }
  /** Starts a sync of accounts and transactions; a request during a sync joins the sync */
  'POST /api/open-finance/sync': {
    role: 'operator'
    body: {
      item_id?: string | null
    }
    answer: {
      id: string
      /** an earlier request has begun this sync */
      joined: boolean
      /** Pluggy without keys was simulated on this machine */
      simulado: boolean
    }
  }
  /** Lists the syncs, the newest first */
  'GET /api/open-finance/syncs': {
    role: 'viewer'
    query: { status?: "PENDING" | "PROCESSING" | "DONE" | "FAILED"; limit?: number; after?: string }
    answer: {
      items: (BankSync)[]
      next: string | null
    }
  }
  /** Gets a sync with status, counts and the reason of a wait */
  'GET /api/open-finance/syncs/{id}': {
    role: 'viewer'
    params: { id: string }
    answer: BankSync
  }
  /** Lists the connections with banks, and whether a bank waits for its customer */
  'GET /api/open-finance/items': {
    role: 'viewer'
    query: { limit?: number; after?: string }
    answer: {
      items: (BankItem)[]
      next: string | null
    }
  }
  /** Erases a connection with its accounts, transactions and syncs; the consent at Pluggy stays */
  'DELETE /api/open-finance/items/{id}': {
    role: 'operator'
    params: { id: string }
    answer: undefined
  }
  /** Lists the accounts with their balances */
  'GET /api/open-finance/accounts': {
    role: 'viewer'
    query: { item_id?: string; limit?: number; after?: string }
    answer: {
      items: (BankAccount)[]
      next: string | null
    }
  }
  /** Lists the transactions, the newest first */
  'GET /api/open-finance/transactions': {
    role: 'viewer'
    query: { from?: string; to?: string; account_id?: string; category?: string; type?: "CREDIT" | "DEBIT"; removed?: "true" | "false"; limit?: number; after?: string }
    answer: {
      items: (BankTransaction)[]
      next: string | null
    }
  }
  /** Sums money in and money out by month and by category, without removed transactions */
  'GET /api/open-finance/totals': {
    role: 'viewer'
    query: { from?: string; to?: string; account_id?: string; category?: string; type?: "CREDIT" | "DEBIT" }
    answer: BankTotals
  }
  /** Creates a snap from an image: the field `image` of a form, or the body itself */
  'POST /api/snaps': {
    role: 'operator'
    answer: {
      id: string
    }
  }
  /** Lists snaps, the oldest first */
  'GET /api/snaps': {
    role: 'viewer'
    query: { status?: "PENDING" | "PROCESSING" | "DONE" | "FAILED"; order?: "oldest" | "newest"; limit?: number; after?: string }
    answer: {
      items: (ListedSnap)[]
      next: string | null
    }
  }
  /** Gets a snap with status and measures */
  'GET /api/snaps/{id}': {
    role: 'viewer'
    params: { id: string }
    answer: Snap
  }
  /** Erases a snap: image, measures, steps, failures and events; an unfinished snap is cancelled first */
  'DELETE /api/snaps/{id}': {
    role: 'operator'
    params: { id: string }
    answer: undefined
  }
  /** Downloads the image as it was sent */
  'GET /api/snaps/{id}/image': {
    role: 'viewer'
    params: { id: string }
    answer: unknown
  }
  /** Creates a schedule of shifts from people, shifts, demand and rules */
  'POST /api/planner/generate-schedule': {
    role: 'operator'
    body: {
      /** first day */
      start: string
      days?: number
      people: ({
        name: string
        skills?: (string)[]
        max_hours_week?: number
        min_hours_week?: number
        /** a shift must lie within one of these windows; omitted: always available */
        available?: ({
          /** omitted: every day */
          weekdays?: (number)[]
          from?: string
          /** at or before `from`: on the next day, whose early shifts the window contains too */
          to?: string
        })[]
        days_off?: (string)[]
        /** names of shifts */
        prefers?: (string)[]
        /** names of shifts */
        avoids?: (string)[]
      })[]
      shifts: ({
        name: string
        start: string
        /** at or before `start`: on the next day */
        end: string
        /** omitted: true for a shift with hours between 0:00 and 5:00 */
        night?: boolean
        /** every person of this shift needs this skill */
        skill?: string
      })[]
      demand: ({
        shift?: string
        hour?: number
        date?: string
        /** 0: Sunday, 6: Saturday */
        weekday?: number
        people: number
        skills?: { [name: string]: number }
      })[]
      rules?: {
        min_rest_hours?: number
        max_days_in_row?: number
        max_nights_per_week?: number
      }
      /** true: the demand may stay uncovered, as little as possible */
      allow_shortage?: boolean
      /** true: the longest working time is short */
      balance_hours?: boolean
      time_limit_seconds?: number
    }
    answer: {
      id: string
    }
  }
  /** Extracts the demand per weekday and hour from a table of visits (CSV or XLSX) */
  'POST /api/planner/extract-demand': {
    role: 'operator'
    answer: {
      id: string
    }
  }
  /** Creates thumbnails of an image or of the first page of a PDF: WebP in two sizes */
  'POST /api/planner/generate-thumbnail': {
    role: 'operator'
    answer: {
      id: string
    }
  }
  /** Lists the jobs of the planner, the newest first */
  'GET /api/planner/jobs': {
    role: 'viewer'
    query: { status?: "PENDING" | "RUNNING" | "COMPLETED" | "FAILED"; kind?: "generate-schedule" | "extract-demand" | "generate-thumbnail"; limit?: number; after?: string }
    answer: {
      items: (ListedPlannerJob)[]
      next: string | null
    }
  }
  /** Gets a job of the planner with status, heartbeat, progress and result */
  'GET /api/planner/jobs/{id}': {
    role: 'viewer'
    params: { id: string }
    answer: PlannerJob
  }
  /** Erases a job with its input, result, files, failures and events; an unfinished job is cancelled first */
  'DELETE /api/planner/jobs/{id}': {
    role: 'operator'
    params: { id: string }
    answer: undefined
  }
  /** Exports the schedule or the demand as CSV for a spreadsheet: UTF-8, semicolons, no formulas */
  'GET /api/planner/jobs/{id}/result.csv': {
    role: 'viewer'
    params: { id: string }
    answer: unknown
  }
  /** A thumbnail as WebP: small (256 pixels) or large (1024 pixels) */
  'GET /api/planner/jobs/{id}/thumbnails/{size}': {
    role: 'viewer'
    params: { id: string; size: string }
    answer: unknown
  }
  /** Gets this API as OpenAPI 3.1 */
  'GET /api/openapi.json': {
    role: 'viewer'
    answer: {
      openapi: string
      paths: Record<string, unknown>
    }
  }
  /** Gets this API as a page */
  'GET /api/docs': {
    role: 'viewer'
    answer: unknown
  }
  /** Gets the style sheet of the page */
  'GET /api/docs.css': {
    role: 'open'
    answer: unknown
  }
}
