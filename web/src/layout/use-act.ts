/** Runs an action of the API and reports its effect, or why it failed, as a toast. */
import type { Answer, Call, Operation } from '../api/client.ts'
import { useAction } from '../api/query.ts'
import { useToast } from '../components/toast.tsx'

interface Act<Name extends Operation> {
  /** Resolves with the answer, or with undefined after a failure, which was reported. */
  run(given: Call<Name>): Promise<Answer<Name> | undefined>
  busy: boolean
}

/** `effect` says what the action did: "12 itens voltaram à fila". */
export function useAct<Name extends Operation>(operation: Name, effect: (answer: Answer<Name>) => string): Act<Name> {
  const action = useAction(operation)
  const toast = useToast()
  return {
    busy: action.isPending,
    async run(given) {
      try {
        const answer = await (action.mutateAsync as (given: Call<Name>) => Promise<Answer<Name>>)(given)
        toast.show('good', effect(answer))
        return answer
      } catch (error) {
        toast.show('bad', error instanceof Error ? error.message : String(error))
        return undefined
      }
    },
  }
}
