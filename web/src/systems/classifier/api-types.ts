/** Names for the answers of the classifier's routes. */
import type { Answer } from '../../api/client.ts'
import type { SystemStatus } from '../shared/status-badge.tsx'

export type Project = Answer<'GET /projetos/{id}'>
export type Execution = Answer<'GET /execucoes/{id}'>
export type Detail = Answer<'GET /execucoes/{id}/status-detalhado'>
export type Result = Answer<'GET /execucoes/{id}/resultados'>['items'][number]
export type DocumentError = Answer<'GET /execucoes/{id}/erros'>['documentos'][number]
export type Status = Execution['status']
export type DocumentStatus = Result['status']

/** No process leaves these by itself. */
export const isOver = (status: Status): boolean => ['CONCLUIDO', 'ERRO', 'CANCELADO'].includes(status)
export const isAtWork = (status: Status): boolean => status === 'PENDENTE' || status === 'EM_ANDAMENTO'

/** The status for people: a completed execution with errors has a word of its own. */
export const shownStatus = ({ status, erros }: { status: Status; erros: number }): SystemStatus =>
  status === 'CONCLUIDO' && erros > 0 ? 'CONCLUIDO_COM_ERROS' : status
