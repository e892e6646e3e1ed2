/**
 * Defines the errors of Open Finance. docs/errors.md lists the errors (`npm run docs`). Every viewer of the engine sees the error of a job, so
 * that no error names a connection, an account or a bank.
 */
import { defineErrors } from 'retoma'

export const openFinanceErrors = defineErrors({
  bank_item_unknown: {
    status: 404,
    en: 'there is no such bank connection: connect the bank again',
    pt: 'não existe essa conexão bancária: conecte o banco de novo',
  },
  bank_login_refused: {
    status: 409,
    en: 'the bank refuses the login of this connection ({detail}): connect the bank again with the right credentials, then sync again',
    pt: 'o banco recusa o login desta conexão ({detail}): conecte o banco de novo com as credenciais certas e sincronize outra vez',
  },
  bank_waits_for_user: {
    status: 409,
    en: 'the bank waits for you ({detail}): confirm the access in the app of the bank, or answer its question, then sync again',
    pt: 'o banco espera por você ({detail}): confirme o acesso no aplicativo do banco, ou responda à pergunta dele, e sincronize outra vez',
  },
  bank_access_refused: {
    status: 403,
    en: 'Pluggy refuses the data of this bank connection: connect the bank again',
    pt: 'o Pluggy recusa os dados desta conexão bancária: conecte o banco de novo',
  },
  bank_worker_without_keys: {
    status: 409,
    en: 'the worker of this sync has no keys of Pluggy, and no data was read: the administrator sets PLUGGY_CLIENT_ID and PLUGGY_CLIENT_SECRET for every worker; then sync again',
    pt: 'o worker desta sincronização não tem as chaves do Pluggy, e nada foi lido: o administrador define PLUGGY_CLIENT_ID e PLUGGY_CLIENT_SECRET em todos os workers; depois, sincronize outra vez',
  },
  bank_sync_simulated: {
    status: 409,
    en: 'this sync began with simulated bank data, and Pluggy now has keys: sync again',
    pt: 'esta sincronização começou com dados bancários simulados, e agora o Pluggy tem chaves: sincronize outra vez',
  },
  bank_data_erased: {
    status: 410,
    en: 'the bank connection was erased during the sync',
    pt: 'a conexão bancária foi apagada durante a sincronização',
  },
})
