import { JsonRpcError } from '../../../jsonRpc/types.ts'

/** Undefined if the endpoint answers with an error, because it need not serve every method. */
export async function orUndefined<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof JsonRpcError) return undefined
    throw error
  }
}
