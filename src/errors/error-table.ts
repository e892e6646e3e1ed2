/**
 * Lists every error of Retoma: a stable code, an HTTP status, a sentence in English and in Portuguese, and the flag `retryable`
 * if the same call can succeed later. Placeholders in braces are the facts. docs/errors.md is printed from this table
 * (`npm run docs`); errors.ts creates the errors.
 *
 * Invariant: a code never changes its meaning after a release; sentences may improve.
 */

export interface Entry {
  status: number
  /** The same call may succeed later. Default: false. */
  retryable?: true
  en: string
  pt: string
}

const define = <const T extends Record<string, Entry>>(entries: T): T => entries

export const errorTable = define({
  // Set-up and settings
  bad_setting: {
    status: 500,
    en: '{name} is not usable: {problem}',
    pt: '{name} não serve: {problem}',
  },
  no_database: {
    status: 500,
    en: 'no database is set, and NODE_ENV is production; set DATABASE_URL (or databaseUrl) to a PostgreSQL 14 or newer, or to "embedded" for the embedded PostgreSQL of this folder',
    pt: 'nenhum banco de dados está definido, e NODE_ENV é production; defina DATABASE_URL (ou databaseUrl) com um PostgreSQL 14 ou mais novo, ou com "embedded" para o PostgreSQL embutido desta pasta',
  },
  notify_unset: {
    status: 400,
    en: 'RETOMA_NOTIFY_URL is not set, so no notice is sent; set it to the address of a webhook first',
    pt: 'RETOMA_NOTIFY_URL não está definida, então ninguém é avisado de nada; defina-a antes com o endereço de um webhook',
  },
  notify_failed: {
    status: 502,
    retryable: true,
    en: 'the webhook of RETOMA_NOTIFY_URL did not accept the notice: {problem}',
    pt: 'o webhook de RETOMA_NOTIFY_URL não foi avisado: {problem}',
  },
  wrong_use: { status: 400, en: '{problem}', pt: '{problem}' },
  unexpected: {
    status: 500,
    en: 'something went wrong that should not: {problem}; LOG_LEVEL=debug shows where',
    pt: 'aconteceu algo que não devia: {problem}; LOG_LEVEL=debug mostra onde',
  },
  host_needs_token: {
    status: 500,
    en: 'HOST={host} would open Retoma to the network without any token; set RETOMA_ADMIN_TOKEN to a long random value first, or leave HOST at 127.0.0.1',
    pt: 'HOST={host} abriria o Retoma para a rede sem nenhum token; defina antes RETOMA_ADMIN_TOKEN com um valor longo e aleatório, ou deixe HOST em 127.0.0.1',
  },
  port_taken: {
    status: 500,
    en: 'port {port} is already taken on {host}; port {free} is free: set PORT={free} and start again',
    pt: 'a porta {port} já está ocupada em {host}; a porta {free} está livre: defina PORT={free} e inicie de novo',
  },
  too_many_processes: {
    status: 500,
    en: '{processes} processes need at least {needed} connections, and the database allows {allowed}: use at most {most} processes, or raise max_connections',
    pt: '{processes} processos precisam de pelo menos {needed} conexões, e o banco permite {allowed}: use no máximo {most} processos, ou aumente max_connections',
  },
  bad_config: {
    status: 500,
    en: '{file} cannot be used: {problem}',
    pt: '{file} não pode ser usado: {problem}',
  },
  no_jobs: {
    status: 500,
    en: 'there is no kind of job to work on: {why}',
    pt: 'não há nenhum tipo de job para executar: {why}',
  },
  file_exists: {
    status: 409,
    en: '{file} already exists and was left as it is; remove it first, or run init in another folder',
    pt: '{file} já existe e foi deixado como está; remova-o antes, ou rode init em outra pasta',
  },
  file_not_written: {
    status: 507,
    en: '{file} could not be written: {problem}; nothing of it is left',
    pt: '{file} não pôde ser escrito: {problem}; nada dele ficou',
  },

  // The embedded PostgreSQL
  postgres_missing: {
    status: 500,
    en: 'the embedded PostgreSQL for {platform} is not installed ({problem}); run `npm install` again without --omit=optional, or set DATABASE_URL to a PostgreSQL 14 or newer',
    pt: 'o PostgreSQL embutido para {platform} não está instalado ({problem}); rode `npm install` de novo sem --omit=optional, ou defina DATABASE_URL para um PostgreSQL 14 ou mais novo',
  },
  platform_unsupported: {
    status: 500,
    en: 'there is no embedded PostgreSQL for {platform}: {way_out}',
    pt: 'não há PostgreSQL embutido para {platform}: {way_out}',
  },
  data_other_major: {
    status: 500,
    en: 'the data in {folder} was made by PostgreSQL {found}, this version of Retoma brings {expected}; nothing was changed: use the version of Retoma that made it, or move the folder away to start empty',
    pt: 'os dados em {folder} foram feitos pelo PostgreSQL {found}, esta versão do Retoma traz o {expected}; nada foi alterado: use a versão do Retoma que os fez, ou mova a pasta para começar vazio',
  },
  data_unreadable: {
    status: 500,
    en: 'the data folder {folder} cannot be used: {problem}; make it writable for this user, or set RETOMA_DATA_DIR to a folder that is',
    pt: 'a pasta de dados {folder} não pode ser usada: {problem}; dê permissão de escrita a este usuário, ou defina RETOMA_DATA_DIR para uma pasta que tenha',
  },
  data_in_use: {
    status: 409,
    en: 'the data folder {folder} is already in use by another `retoma up` at {address}; open that one, stop it, or set RETOMA_DATA_DIR to another folder',
    pt: 'a pasta de dados {folder} já está em uso por outro `retoma up` em {address}; abra aquele, pare-o, ou defina RETOMA_DATA_DIR para outra pasta',
  },
  no_data: {
    status: 404,
    en: 'there is no data in {folder}; start with `retoma up`, or set DATABASE_URL or RETOMA_DATA_DIR to where the data is',
    pt: 'não há dados em {folder}; comece com `retoma up`, ou defina DATABASE_URL ou RETOMA_DATA_DIR para onde os dados estão',
  },
  disk_full: {
    status: 507,
    en: 'no space left on the disk that holds {folder}; free some space (about 100 MB to begin with), or set RETOMA_DATA_DIR to another disk, and start again: what was committed is kept',
    pt: 'não há espaço no disco que contém {folder}; libere espaço (cerca de 100 MB para começar), ou defina RETOMA_DATA_DIR para outro disco, e inicie de novo: o que foi gravado continua lá',
  },
  postgres_failed: {
    status: 500,
    en: 'the embedded PostgreSQL in {folder} did not {action}: {problem}; its log is {log}',
    pt: 'o PostgreSQL embutido em {folder} falhou ao {action}: {problem}; o log está em {log}',
  },
  no_unprivileged_user: {
    status: 500,
    en: 'PostgreSQL refuses to run as root, and no other user can run it here ({problem}); start Retoma as an ordinary user, or set DATABASE_URL',
    pt: 'o PostgreSQL se recusa a rodar como root, e nenhum outro usuário pode rodá-lo aqui ({problem}); inicie o Retoma como usuário comum, ou defina DATABASE_URL',
  },

  // The database
  watchdog_missing: {
    status: 503,
    retryable: true,
    en: 'no watchdog has checked yet: the first check comes within seconds of the start of serve, a worker or a watchdog',
    pt: 'nenhum watchdog verificou ainda: a primeira verificação vem segundos depois que serve, um worker ou um watchdog começa',
  },
  watchdog_late: {
    status: 503,
    retryable: true,
    en: 'no watchdog has checked for {seconds} s: stalled and orphaned jobs are not recovered',
    pt: 'nenhum watchdog verifica há {seconds} s: ninguém cuida do que está parado',
  },
  cannot_claim: {
    status: 503,
    retryable: true,
    en: 'the worker of this process could not ask for jobs for {seconds} s',
    pt: 'o worker deste processo não consegue pedir jobs há {seconds} s',
  },
  database_unreachable: {
    status: 503,
    retryable: true,
    en: 'the database at {address} does not answer: {problem}; {outcome}',
    pt: 'o banco de dados em {address} não responde: {problem}; {outcome}',
  },
  database_refused: {
    status: 503,
    en: 'the database at {address} refuses the connection: {problem}; check user, password and database name in DATABASE_URL',
    pt: 'o banco de dados em {address} recusa a conexão: {problem}; confira usuário, senha e nome do banco em DATABASE_URL',
  },
  database_full: {
    status: 507,
    retryable: true,
    en: 'the disk of the database is full: {problem}; free some space, and the work goes on by itself',
    pt: 'o disco do banco de dados está cheio: {problem}; libere espaço, e o trabalho continua sozinho',
  },
  database_timeout: {
    status: 503,
    retryable: true,
    en: 'the database did not answer within {seconds} s, and the connection was dropped; {outcome}',
    pt: 'o banco de dados não respondeu em {seconds} s, e a conexão foi encerrada; {outcome}',
  },
  database_locked: {
    status: 503,
    retryable: true,
    en: 'another transaction holds what this needs, and did not let go in time: {problem}; try again',
    pt: 'outra transação segura o que isto precisa, e não soltou a tempo: {problem}; tente de novo',
  },
  database_no_rights: {
    status: 500,
    en: 'the user {user} may not do this in database {database}: {problem}; as its owner run: {grant}',
    pt: 'o usuário {user} não tem permissão no banco {database}: {problem}; como dono do banco rode: {grant}',
  },
  database_error: {
    status: 500,
    en: 'the database refused a statement of Retoma ({state}): {problem}',
    pt: 'o banco de dados recusou um comando do Retoma ({state}): {problem}',
  },
  schema_damaged: {
    status: 500,
    en: 'a part of the schema retoma is missing: {problem}; run `retoma migrate` for an empty database, or restore a backup',
    pt: 'falta uma parte do esquema retoma: {problem}; rode `retoma migrate` para um banco vazio, ou restaure um backup',
  },
  postgres_too_old: {
    status: 500,
    en: 'the database is PostgreSQL {found}; Retoma needs 14 or newer',
    pt: 'o banco é PostgreSQL {found}; o Retoma precisa do 14 ou mais novo',
  },
  schema_too_new: {
    status: 500,
    en: 'the database has schema version {found}, this version of Retoma knows {known} at most; update Retoma, or take the schema down with the newer version: retoma migrate --to {known}',
    pt: 'o banco tem a versão {found} do esquema, esta versão do Retoma conhece no máximo a {known}; atualize o Retoma, ou volte o esquema com a versão mais nova: retoma migrate --to {known}',
  },
  schema_too_old: {
    status: 500,
    en: 'the database has schema version {found}, this version of Retoma needs {needed}; run: retoma migrate',
    pt: 'o banco tem a versão {found} do esquema, esta versão do Retoma precisa da {needed}; rode: retoma migrate',
  },
  system_schema_too_new: {
    status: 500,
    en: 'the database has version {found} of the tables of the system {system}, its code here knows {known} at most; update the system, or take its tables down with the newer version: retoma migrate --system {system} --to {known}',
    pt: 'o banco tem a versão {found} das tabelas do sistema {system}, o código aqui conhece no máximo a {known}; atualize o sistema, ou volte as tabelas com a versão mais nova: retoma migrate --system {system} --to {known}',
  },
  system_schema_too_old: {
    status: 500,
    en: 'the database has version {found} of the tables of the system {system}, its code here needs {needed}; run: retoma migrate',
    pt: 'o banco tem a versão {found} das tabelas do sistema {system}, o código aqui precisa da {needed}; rode: retoma migrate',
  },
  unknown_migration: {
    status: 400,
    en: 'there is no schema version {asked}; versions go from 0 (nothing) to {newest}',
    pt: 'não existe a versão {asked} do esquema; as versões vão de 0 (nada) a {newest}',
  },
  migration_loses_jobs: {
    status: 409,
    en: 'going down to schema version {asked} would delete {unfinished} jobs that are not finished; nothing was changed: let them finish or cancel them, or say --force',
    pt: 'voltar para a versão {asked} do esquema apagaria {unfinished} jobs que não terminaram; nada foi alterado: deixe-os terminar ou cancele-os, ou use --force',
  },
  migration_loses_system: {
    status: 409,
    en: 'going down to schema version {asked} would take the tables that the system {system} reads; nothing was changed: first take down the system, with a config that names it: retoma migrate --system {system} --to 0',
    pt: 'voltar para a versão {asked} do esquema tiraria as tabelas que o sistema {system} lê; nada foi alterado: primeiro volte o sistema, com um config que o nomeie: retoma migrate --system {system} --to 0',
  },
  bad_migrations: {
    status: 500,
    en: 'the migrations of {system} cannot be read: {problem}',
    pt: 'as migrações de {system} não podem ser lidas: {problem}',
  },
  migration_failed: {
    status: 500,
    en: 'migration {name} failed and was rolled back: {problem}',
    pt: 'a migração {name} falhou e foi desfeita: {problem}',
  },

  unknown_system: {
    status: 404,
    en: 'the config names no system "{name}" that has tables; name it there: systems: […]',
    pt: 'o config não nomeia nenhum sistema "{name}" que tenha tabelas; nomeie-o ali: systems: […]',
  },

  // Backups
  backup_exists: {
    status: 409,
    en: '{file} already exists and was left as it is; take another name, or say --force to replace it',
    pt: '{file} já existe e foi deixado como está; use outro nome, ou --force para substituí-lo',
  },
  backup_needs_system: {
    status: 409,
    en: '{file} has tables of the system {system}, which the config does not name; nothing was changed: name it in retoma.config, systems: […], and restore again',
    pt: '{file} tem tabelas do sistema {system}, que o config não nomeia; nada foi alterado: nomeie-o no retoma.config, systems: […], e restaure de novo',
  },
  backup_not_read: {
    status: 404,
    en: '{file} cannot be read: {problem}; nothing was changed',
    pt: '{file} não pode ser lido: {problem}; nada foi alterado',
  },
  no_backup: {
    status: 400,
    en: '{file} is not a backup made by `retoma backup`; nothing was changed',
    pt: '{file} não é um backup feito por `retoma backup`; nada foi alterado',
  },
  backup_damaged: {
    status: 400,
    en: '{file} is cut off or altered: {problem}; nothing was changed: take another copy of it',
    pt: '{file} está cortado ou alterado: {problem}; nada foi alterado: use outra cópia dele',
  },
  backup_too_new: {
    status: 400,
    en: '{file} was made by Retoma {version}, which is newer than this one; nothing was changed: update Retoma first',
    pt: '{file} foi feito pelo Retoma {version}, mais novo que este; nada foi alterado: atualize o Retoma antes',
  },
  backup_differs: {
    status: 409,
    en: '{file} has a table retoma.{table} that Retoma did not make, or that has other columns here; nothing was changed: make that table in this database first',
    pt: '{file} tem uma tabela retoma.{table} que não é do Retoma, ou que aqui tem outras colunas; nada foi alterado: crie antes essa tabela neste banco',
  },
  restore_not_empty: {
    status: 409,
    en: 'the database is not empty (rows in retoma.{table}: {rows}); nothing was changed: restore into an empty one, or say --replace to lose what is there',
    pt: 'o banco não está vazio (linhas em retoma.{table}: {rows}); nada foi alterado: restaure em um banco vazio, ou use --replace para perder o que está lá',
  },
  restore_loses_table: {
    status: 409,
    en: 'retoma.{table} is not a table of Retoma, has rows, and is not in the backup, so they would be lost; nothing was changed: move it away first, such as by alter table retoma."{table}" set schema public',
    pt: 'retoma.{table} não é uma tabela do Retoma, tem linhas e não está no backup, então elas se perderiam; nada foi alterado: tire-a daí antes, por exemplo com alter table retoma."{table}" set schema public',
  },
  restore_while_working: {
    status: 409,
    en: 'workers are at work on this database ({workers}); nothing was changed: stop them first, and wait 20 s after one that was killed',
    pt: 'há workers trabalhando neste banco ({workers}); nada foi alterado: pare-os antes, e espere 20 s depois de um que foi morto',
  },

  // Guards
  unknown_guard: {
    status: 404,
    en: 'there is no guard "{name}" here; {hint}',
    pt: 'não existe o guard "{name}" aqui; {hint}',
  },
  guard_no_table: {
    status: 409,
    en: 'there is no table {table} in this database; {hint}',
    pt: 'não existe a tabela {table} neste banco; {hint}',
  },
  guard_no_column: {
    status: 409,
    en: 'the table {table} has no column "{column}"; {hint}',
    pt: 'a tabela {table} não tem a coluna "{column}"; {hint}',
  },
  guard_unfit: {
    status: 409,
    en: 'the table {table} cannot be guarded like this: {problem}; nothing was changed',
    pt: 'a tabela {table} não pode ser vigiada assim: {problem}; nada foi alterado',
  },
  guard_no_rights: {
    status: 409,
    en: 'the user {user} lacks the right to {right} the table {table}; as its owner run: {grant}',
    pt: 'falta ao usuário {user} o direito de {right} na tabela {table}; como dono dela rode: {grant}',
  },
  guard_slow: {
    status: 503,
    retryable: true,
    en: 'the rows of {table} could not be read within {seconds} s; {way_out}',
    pt: 'não deu para percorrer as linhas de {table} em {seconds} s; {way_out}',
  },

  // Jobs
  bad_definition: {
    status: 500,
    en: 'the definition of {what} is not usable: {problem}',
    pt: 'a definição do {what} não serve: {problem}',
  },
  bad_option: {
    status: 400,
    en: 'the option {option} is not usable: {problem}',
    pt: 'a opção {option} não serve: {problem}',
  },
  unknown_kind: {
    status: 400,
    en: 'there is no job of kind "{kind}" here; {hint}',
    pt: 'não existe job do tipo "{kind}" aqui; {hint}',
  },
  internal_kind: {
    status: 403,
    en: 'jobs of kind "{kind}" are made by the program itself, not by a request; retry, resume, cancel and skip work on those that exist',
    pt: 'jobs do tipo "{kind}" são criados pelo próprio programa, não por uma requisição; retry, resume, cancel e skip agem nos que existem',
  },
  unknown_batch: {
    status: 400,
    en: 'there is no batch named "{name}" here; {hint}',
    pt: 'não existe lote com o nome "{name}" aqui; {hint}',
  },
  unknown_schedule: {
    status: 404,
    en: 'there is no schedule "{name}" here; {hint}',
    pt: 'não existe o agendamento "{name}" aqui; {hint}',
  },
  bad_input: {
    status: 400,
    en: 'the input of a {kind} job is not valid: {problem}',
    pt: 'a entrada de um job {kind} não é válida: {problem}',
  },
  input_too_large: {
    status: 413,
    en: 'the input of a {kind} job is too large: {problem}',
    pt: 'a entrada de um job {kind} é grande demais: {problem}',
  },
  bad_value: {
    status: 400,
    en: '{what} cannot be stored: {problem}',
    pt: '{what} não pode ser gravado: {problem}',
  },
  queue_full: {
    status: 429,
    retryable: true,
    en: 'the queue {queue} is full: {waiting} jobs wait, and {most} may; nothing of this was enqueued: try again in {seconds} s',
    pt: 'a fila {queue} está cheia: {waiting} jobs esperam, e o máximo é {most}; nada disto foi enfileirado: tente de novo em {seconds} s',
  },
  not_found: {
    status: 404,
    en: 'there is no {what} "{id}"',
    pt: 'não existe {what} "{id}"',
  },
  unknown_queue: {
    status: 404,
    en: 'there is no queue "{queue}"; {hint}',
    pt: 'não existe a fila "{queue}"; {hint}',
  },
  // Providers
  provider_timeout: {
    status: 504,
    retryable: true,
    en: '{provider} did not answer within {seconds} s',
    pt: '{provider} não respondeu em {seconds} s',
  },
  provider_unreachable: {
    status: 502,
    retryable: true,
    en: '{provider} could not be reached, or broke off in the middle of its answer ({problem})',
    pt: '{provider} não pôde ser alcançado, ou interrompeu a resposta no meio ({problem})',
  },
  provider_error: {
    status: 502,
    retryable: true,
    en: '{provider} answered with error {status}: {words}',
    pt: '{provider} respondeu com o erro {status}: {words}',
  },
  provider_useless: {
    status: 502,
    retryable: true,
    en: 'the answer of {provider} is of no use: {problem}',
    pt: 'a resposta de {provider} não serve: {problem}',
  },
  provider_busy: {
    status: 503,
    retryable: true,
    en: '{provider} answered {status}: {words}',
    pt: '{provider} respondeu {status}: {words}',
  },
  provider_refused: {
    status: 502,
    en: '{provider} refuses to go on (status {status}): {words}',
    pt: '{provider} se recusa a continuar (status {status}): {words}',
  },
  provider_moved: {
    status: 502,
    en: '{provider} answers with a redirect (status {status}), which is not followed: correct the address in {setting}, then resume',
    pt: '{provider} responde com um redirecionamento (status {status}), que não é seguido: corrija o endereço em {setting} e continue',
  },
  provider_rejected: {
    status: 422,
    en: '{provider} refuses this request (status {status}): {words}',
    pt: '{provider} recusa este pedido (status {status}): {words}',
  },

  // Over HTTP
  bad_request: {
    status: 400,
    en: '{field} is not usable: {problem}',
    pt: '{field} não serve: {problem}',
  },
  body_too_large: {
    status: 413,
    en: 'the body is larger than {most} bytes',
    pt: 'o corpo tem mais de {most} bytes',
  },
  too_many_values: {
    status: 413,
    en: 'the body has more than {most} values (list items and object fields)',
    pt: 'o corpo tem mais de {most} valores (itens de listas e campos de objetos)',
  },
  server_busy: {
    status: 503,
    retryable: true,
    en: 'the server works on as many large requests and answers as it can at once; try again in {seconds} s',
    pt: 'o servidor já trata tantas requisições e respostas grandes quantas consegue de uma vez; tente de novo em {seconds} s',
  },
  too_many_streams: {
    status: 503,
    retryable: true,
    en: 'the server has {most} streams of events open, and no more at once; try again in {seconds} s',
    pt: 'o servidor já tem {most} fluxos de eventos abertos, o máximo; tente de novo em {seconds} s',
  },
  file_too_large: {
    status: 413,
    en: 'the file is larger than {most} bytes',
    pt: 'o arquivo tem mais de {most} bytes',
  },
  too_many_files: {
    status: 413,
    en: 'more than {most} files were sent; nothing of this was kept',
    pt: 'foram enviados mais de {most} arquivos; nada disto foi guardado',
  },
  file_gone: {
    status: 410,
    en: 'file {id} was erased meanwhile',
    pt: 'o arquivo {id} foi apagado neste meio-tempo',
  },
  not_multipart: {
    status: 415,
    en: 'the body must be sent as multipart/form-data, not as {type}',
    pt: 'o corpo deve ser enviado como multipart/form-data, não como {type}',
  },
  not_json: {
    status: 415,
    en: 'the body must be sent as application/json, not as {type}',
    pt: 'o corpo deve ser enviado como application/json, não como {type}',
  },
  encoded_body: {
    status: 415,
    en: 'the body must be sent as it is, without Content-Encoding ({encoding})',
    pt: 'o corpo deve ser enviado como é, sem Content-Encoding ({encoding})',
  },
  bad_expectation: {
    status: 417,
    en: 'the header Expect may only be 100-continue',
    pt: 'o cabeçalho Expect só pode ser 100-continue',
  },
  unauthorized: {
    status: 401,
    en: 'a valid token is needed: Authorization: Bearer …; `retoma token create` makes one',
    pt: 'é preciso um token válido: Authorization: Bearer …; `retoma token create` faz um',
  },
  proxy_without_token: {
    status: 403,
    en: 'a proxy passed this request on ({header}), and no token has been made yet: without one, only this machine itself is let in; `retoma token create`, or RETOMA_ADMIN_TOKEN, makes one',
    pt: 'um proxy repassou esta requisição ({header}), e ainda não há nenhum token: sem um, só esta própria máquina entra; `retoma token create`, ou RETOMA_ADMIN_TOKEN, faz um',
  },
  foreign_host: {
    status: 403,
    en: 'no token has been made yet, so only requests for this machine are let in, and this one is for {host}; make a token, or set PUBLIC_URL',
    pt: 'ainda não há nenhum token, então só entram requisições para esta máquina, e esta é para {host}; crie um token, ou defina PUBLIC_URL',
  },
  foreign_origin: {
    status: 403,
    en: 'this comes from a page of another site ({origin}), which may not act here',
    pt: 'isto vem de uma página de outro site ({origin}), que não pode agir aqui',
  },
  cron_unset: {
    status: 503,
    en: 'CRON_SECRET is not set, so nobody may call the cron routes; set it and start again',
    pt: 'CRON_SECRET não está definida, então ninguém pode chamar as rotas de cron; defina-a e inicie de novo',
  },
  cron_refused: {
    status: 401,
    en: 'the secret is missing or wrong: send Authorization: Bearer with the value of CRON_SECRET, or ?secret=',
    pt: 'o segredo falta ou está errado: envie Authorization: Bearer com o valor de CRON_SECRET, ou ?secret=',
  },
  last_admin: {
    status: 409,
    en: 'token {id} is the last one of an admin, and nobody could let others in without it; make another first',
    pt: 'o token {id} é o último de um admin, e sem ele ninguém poderia deixar outros entrarem; crie outro antes',
  },
  bad_http: {
    status: 400,
    en: 'this is no HTTP request that can be understood: {problem}',
    pt: 'isto não é uma requisição HTTP que se entenda: {problem}',
  },
  headers_too_large: {
    status: 431,
    en: 'the headers of the request are larger than {most} bytes',
    pt: 'os cabeçalhos da requisição têm mais de {most} bytes',
  },
  request_too_slow: {
    status: 408,
    en: 'the request did not arrive whole in time',
    pt: 'a requisição não chegou inteira a tempo',
  },
  forbidden: {
    status: 403,
    en: 'this needs the role {needed}, and {user} is {role}',
    pt: 'isto requer o papel {needed}, e {user} é {role}',
  },
  method_not_allowed: {
    status: 405,
    en: '{path} takes {allowed}, not {method}',
    pt: '{path} aceita {allowed}, não {method}',
  },
  rate_limited: {
    status: 429,
    retryable: true,
    en: 'too many requests: {limit} in {per} are allowed; try again in {seconds} s',
    pt: 'muitas requisições: são permitidas {limit} em {per}; tente de novo em {seconds} s',
  },
  no_such_route: {
    status: 404,
    en: 'there is nothing at {method} {path}',
    pt: 'não há nada em {method} {path}',
  },
  lease_lost: {
    status: 409,
    en: 'attempt {attempt} of job {job} is no longer held by {worker}; nothing more of it is written',
    pt: 'a tentativa {attempt} do job {job} não pertence mais a {worker}; nada mais dela é gravado',
  },
  attempt_timeout: {
    status: 500,
    en: 'attempt {attempt} of job {job} took longer than its timeout of {seconds} s',
    pt: 'a tentativa {attempt} do job {job} passou do seu timeout de {seconds} s',
  },
  child_crashed: {
    status: 500,
    en: 'its {place} died: {how}',
    pt: 'seu {place} morreu: {how}',
  },
  poison: {
    status: 500,
    en: 'it has crashed {crashes} times and is not run again; the last time: {last}',
    pt: 'já derrubou o processo {crashes} vezes e não roda mais; da última vez: {last}',
  },
  too_many_restarts: {
    status: 500,
    en: 'its worker died {restarts} times in a row while this job ran, and it never came a step further; resume it to try again',
    pt: 'o worker morreu {restarts} vezes seguidas enquanto este job rodava, e ele não avançou nenhuma etapa; retome-o para tentar de novo',
  },
  child_not_started: {
    status: 503,
    retryable: true,
    en: 'a {place} for its handler could not be started: {problem}',
    pt: 'não foi possível iniciar um {place} para o handler: {problem}',
  },
  handler_unusable: {
    status: 500,
    en: 'the handler of {kind} jobs, {file}, cannot be used: {problem}',
    pt: 'o handler dos jobs {kind}, {file}, não pode ser usado: {problem}',
  },
  isolated_timeout: {
    status: 500,
    en: 'step "{step}" took longer than its timeout of {seconds} s, and its process was ended',
    pt: 'a etapa "{step}" passou do seu timeout de {seconds} s, e seu processo foi encerrado',
  },
  isolated_starved: {
    status: 500,
    en: 'the machine is overloaded: the process of step "{step}" was given {given} s of its {seconds} s in {wall} s, and was ended',
    pt: 'a máquina está sobrecarregada: o processo da etapa "{step}" recebeu {given} s dos seus {seconds} s em {wall} s, e foi encerrado',
  },
  isolated_memory: {
    status: 500,
    en: 'step "{step}" took more than its {megabytes} MB of memory, and its process was ended',
    pt: 'a etapa "{step}" passou dos seus {megabytes} MB de memória, e seu processo foi encerrado',
  },
  isolated_crash: {
    status: 500,
    en: 'the process of step "{step}" died: {how}',
    pt: 'o processo da etapa "{step}" morreu: {how}',
  },
  isolated_unusable: {
    status: 500,
    en: 'the module of step "{step}", {file}, cannot be used: {problem}',
    pt: 'o módulo da etapa "{step}", {file}, não pode ser usado: {problem}',
  },
  step_twice: {
    status: 500,
    en: 'two steps of one job are named "{step}"; each needs a name of its own',
    pt: 'duas etapas de um job se chamam "{step}"; cada uma precisa de um nome próprio',
  },
  step_not_awaited: {
    status: 500,
    en: 'the handler ended before its steps: {steps}; await each of them',
    pt: 'o handler terminou antes de suas etapas: {steps}; espere cada uma com await',
  },
  step_too_large: {
    status: 413,
    en: 'the result of step "{step}" is {bytes} bytes of JSON, at most {most} are kept; store it elsewhere and return a reference',
    pt: 'o resultado da etapa "{step}" tem {bytes} bytes de JSON, no máximo {most} são guardados; grave-o em outro lugar e devolva uma referência',
  },
  step_timeout: {
    status: 500,
    en: 'step "{step}" took longer than its timeout of {seconds} s',
    pt: 'a etapa "{step}" passou do seu timeout de {seconds} s',
  },
  list_changed: {
    status: 500,
    en: 'the list of "{step}" is not the one it began with; give each element a key, with the option key',
    pt: 'a lista de "{step}" não é a mesma com que começou; dê uma chave a cada elemento, com a opção key',
  },
  in_transaction: {
    status: 500,
    en: '{what} cannot be used inside the transaction "{step}", which it would wait for; use it before or after',
    pt: '{what} não pode ser usado dentro da transação "{step}", pela qual esperaria; use antes ou depois',
  },
  transaction_control: {
    status: 500,
    en: 'the transaction "{step}" is begun and ended by Retoma; leave out begin, commit and rollback (savepoints are fine)',
    pt: 'quem abre e encerra a transação "{step}" é o Retoma; tire begin, commit e rollback (savepoints podem ficar)',
  },
  transaction_over: {
    status: 409,
    en: 'the transaction "{step}" is over; it takes no further statement',
    pt: 'a transação "{step}" terminou; nada mais se pede por ela',
  },
  transaction_idle: {
    status: 500,
    en: 'nothing was asked in the transaction "{step}" for 10 s, so PostgreSQL has rolled it back; do what is slow before it',
    pt: 'nada foi pedido na transação "{step}" por 10 s, e o PostgreSQL a desfez; faça antes dela o que demora',
  },
  transaction_aborted: {
    status: 500,
    en: 'the transaction "{step}" was rolled back: a statement of it failed and its error was caught ({problem}); where that may happen, use a savepoint',
    pt: 'a transação "{step}" foi desfeita: um comando dela falhou e o erro foi engolido ({problem}); onde isso pode acontecer, use um savepoint',
  },
  attempt_over: {
    status: 409,
    en: 'this attempt of job {job} is over; "{step}" is no longer part of it',
    pt: 'esta tentativa do job {job} terminou; "{step}" não faz mais parte dela',
  },
  worker_stopping: {
    status: 503,
    en: 'the worker is shutting down; job {job} goes back to its queue',
    pt: 'o worker está encerrando; o job {job} volta para a fila',
  },
  wrong_state: {
    status: 409,
    en: 'job {id} is {state}; {action} is not possible then',
    pt: 'o job {id} está em {state}; {action} não é possível nesse estado',
  },
  steps_saved: {
    status: 409,
    en: 'job {id} has saved steps that belong to its present input; cancel the job and enqueue another job with the new input',
    pt: 'o job {id} já tem etapas salvas que pertencem à entrada atual; cancele o job e crie outro com a entrada nova',
  },
  job_failed: {
    status: 500,
    en: 'job {id} of kind "{kind}" failed: {problem}; engine.jobs.retry("{id}") runs it again',
    pt: 'o job {id} do tipo "{kind}" falhou: {problem}; engine.jobs.retry("{id}") o executa de novo',
  },
  job_cancelled: {
    status: 409,
    en: 'job {id} of kind "{kind}" was cancelled and has no result',
    pt: 'o job {id} do tipo "{kind}" foi cancelado e não tem resultado',
  },
  job_skipped: {
    status: 409,
    en: 'job {id} of kind "{kind}" was skipped and has no result: {problem}',
    pt: 'o job {id} do tipo "{kind}" foi pulado e não tem resultado: {problem}',
  },
  job_stalled: {
    status: 409,
    retryable: true,
    en: 'job {id} of kind "{kind}" is stalled and has no result until a person resumes it with engine.jobs.resume("{id}"): {problem}',
    pt: 'o job {id} do tipo "{kind}" está travado e não tem resultado até alguém o retomar com engine.jobs.resume("{id}"): {problem}',
  },
  batch_state: {
    status: 409,
    en: 'batch {id} is {state}; {action} is not possible then',
    pt: 'o lote {id} está em {state}; {action} não é possível nesse estado',
  },
  batch_paused: {
    status: 409,
    en: 'batch {id} is paused, not stalled',
    pt: 'o lote {id} está pausado, não travado',
  },
  resumes_spent: {
    status: 409,
    en: '{what} {id} has failed after {resumes} resumes; retry its failed items instead',
    pt: '{what} {id} falhou depois de {resumes} retomadas; reprocesse os itens com erro',
  },
  batch_cancelled: {
    status: 409,
    en: 'batch {id} is cancelled; nothing of it runs again',
    pt: 'o lote {id} foi cancelado; nada dele roda de novo',
  },
  other_list: {
    status: 409,
    en: 'batch {id} has taken {received} items already, and this list has {given}; continue it with the list it began with',
    pt: 'o lote {id} já recebeu {received} itens, e esta lista tem {given}; continue com a lista com que ele começou',
  },
  batch_went_back: {
    status: 409,
    en: 'batch {id} has {received} items where {sent} were sent: the database has gone back, as after a failover; submit the whole list again with the same key, and it goes on from there',
    pt: 'o lote {id} tem {received} itens onde {sent} foram enviados: o banco voltou atrás, como depois de um failover; envie a lista inteira de novo com a mesma chave, e ele continua dali',
  },
  key_reserved: {
    status: 409,
    en: 'job {id} cannot run again: job {holder} has its key by now',
    pt: 'o job {id} não pode rodar de novo: o job {holder} já tem a chave dele',
  },
  idempotency_conflict: {
    status: 409,
    en: 'the Idempotency-Key {key} was used for another request within the last 24 hours; take a new one for each request',
    pt: 'a Idempotency-Key {key} já foi usada em outra requisição nas últimas 24 horas; use uma nova para cada requisição',
  },
  idempotency_running: {
    status: 409,
    retryable: true,
    en: 'the first request with the Idempotency-Key {key} is still under way; try again in a moment',
    pt: 'a primeira requisição com a Idempotency-Key {key} ainda está em andamento; tente de novo daqui a pouco',
  },
  key_locked: {
    status: 409,
    retryable: true,
    en: 'a transaction that has not ended yet has enqueued a {kind} job with the same key ({key}); nothing of this was enqueued: try again, in a transaction of your own all of it',
    pt: 'uma transação que ainda não terminou enfileirou um job {kind} com a mesma chave ({key}); nada disto foi enfileirado: tente de novo, numa transação sua ela inteira',
  },
  engine_closed: {
    status: 503,
    en: 'this engine is closed: create another engine with createEngine, or close this engine later',
    pt: 'este engine foi fechado: crie outro com createEngine, ou feche este mais tarde',
  },
  starting: {
    status: 503,
    retryable: true,
    en: 'Retoma is starting; try again in a moment',
    pt: 'o Retoma está iniciando; tente de novo em instantes',
  },
  internal: {
    status: 500,
    en: 'something went wrong inside Retoma; its log has the details',
    pt: 'algo deu errado dentro do Retoma; os detalhes estão no log',
  },
})
