/** The actions on an execution, each with a report of its effect. */
import { useLocation } from 'wouter'
import { useAction } from '../../api/query.ts'
import { useToast } from '../../components/toast.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { executionMessages } from './execution-messages.ts'
import { paths } from './paths.ts'

export function useExecutionActions(id: string) {
  const words = useMessages(executionMessages)
  const toast = useToast()
  const [, navigate] = useLocation()
  const resume = useAction('POST /execucoes/{id}/retomar')
  const retry = useAction('POST /execucoes/{id}/reprocessar-erros')
  const pause = useAction('POST /execucoes/{id}/pausar')
  const goOn = useAction('POST /execucoes/{id}/continuar')
  const cancel = useAction('POST /execucoes/{id}/cancelar')
  const erase = useAction('DELETE /execucoes/{id}')
  const params = { id }

  /** Shows what the action did, or why it did nothing. */
  const report = async (act: () => Promise<string>): Promise<boolean> => {
    try {
      toast.show('good', await act())
      return true
    } catch (error) {
      toast.show('bad', (error as Error).message)
      return false
    }
  }

  return {
    isBusy: [resume, retry, pause, goOn, cancel, erase].some(({ isPending }) => isPending),
    resume: () => report(async () => words.resumed((await resume.mutateAsync({ params, body: {} })).retomados)),
    retryErrors: () =>
      report(async () => {
        const { reprocessados } = await retry.mutateAsync({ params, body: {} })
        return reprocessados === 0 ? words.nothingToRetry : words.retried(reprocessados)
      }),
    pause: () =>
      report(async () => {
        await pause.mutateAsync({ params })
        return words.pausedDone
      }),
    goOn: () =>
      report(async () => {
        await goOn.mutateAsync({ params, body: {} })
        return words.wentOn
      }),
    cancel: () =>
      report(async () => {
        await cancel.mutateAsync({ params })
        return words.cancelled
      }),
    async erase() {
      const done = await report(async () => {
        await erase.mutateAsync({ params })
        return words.erased
      })
      if (done) navigate(paths.home)
    },
  }
}

export type ExecutionActions = ReturnType<typeof useExecutionActions>
