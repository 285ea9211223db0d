import { JsonRpcError } from '../../../jsonRpc/types.ts'

/** Undefined for what an endpoint answers with an error: it need not serve everything. */
export async function orUndefined<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof JsonRpcError) return undefined
    throw error
  }
}
