import { DecodeError, DeviumError, describeError } from '../../lib/errors.ts'
import { L1Error } from '../errors.ts'
import type { L1Client } from '../types.ts'
import type { EndpointChoice } from './endpointChoice.ts'

/**
 * Runs `operation` on one endpoint after the other until one succeeds. `isAnswer` returns false if another endpoint may
 * know better.
 */
export type QueryL1<Endpoint> = <T>(
  operation: (endpoint: Endpoint) => Promise<T>,
  isAnswer?: (result: T) => boolean,
) => Promise<T>

const always = () => true

/** @param isFinal whether the error would be the same at every endpoint, or is the caller's own */
export function createQuery<Endpoint>(
  endpoints: readonly Endpoint[],
  choice: EndpointChoice,
  isFinal: (error: unknown) => boolean = () => false,
): QueryL1<Endpoint> {
  return async (operation, isAnswer = always) => {
    let absent: { result: Awaited<ReturnType<typeof operation>> } | { error: unknown } | undefined
    let failure: unknown
    for (const index of choice.order()) {
      const endpoint = endpoints[index]
      if (endpoint === undefined) continue
      try {
        const result = await operation(endpoint)
        choice.worked(index)
        if (isAnswer(result)) return result
        absent ??= { result }
      } catch (error) {
        if (isFinal(error)) throw error
        if (isNotFound(error)) {
          choice.worked(index)
          absent ??= { error }
          continue
        }
        failure ??= error
        report(choice, index, error)
      }
    }
    if (absent === undefined) throw failure
    if ('error' in absent) throw absent.error
    return absent.result
  }
}

/**
 * Combines several L1 endpoints into one client. If the first endpoint fails or returns wrong data, the next is tried.
 * This also holds for a block that it does not know by hash, because another endpoint may be ahead. An endpoint whose
 * answer fails verification is not used for some time.
 */
export function createPooledClient(clients: readonly L1Client[], choice: EndpointChoice): L1Client {
  const only = clients.length === 1 ? clients[0] : undefined
  if (only !== undefined) return only
  const query = createQuery(clients, choice)
  const isThere = (result: unknown) => result !== undefined

  return {
    blockInfoByHash: (hash) => query((client) => client.blockInfoByHash(hash), isThere),
    // Only the endpoint that reported the head decides whether the number exists.
    blockInfoByNumber: (number) => query((client) => client.blockInfoByNumber(number)),
    blockInfoByLabel: (label) => query((client) => client.blockInfoByLabel(label)),
    transactions: (hash) => query((client) => client.transactions(hash)),
    receipts: (hash) => query((client) => client.receipts(hash)),
    storageAt: (address, slot, blockHash) => query((client) => client.storageAt(address, slot, blockHash)),
    chainId: () => query((client) => client.chainId()),
    blockWeight: () => clients[choice.active]?.blockWeight() ?? 1,
    fetchBlocks(numbers) {
      const { active } = choice
      const fetching = clients[active]?.fetchBlocks(numbers) ?? []
      return numbers.map(async (number, index) => {
        try {
          return await fetching[index]
        } catch (error) {
          report(choice, active, error)
          return query((client) => client.blockInfoByNumber(number))
        }
      })
    },
  }
}

export function report(choice: EndpointChoice, index: number, error: unknown): void {
  const message = describeError(error)
  const isBadData = error instanceof DecodeError || (error instanceof L1Error && error.code === 'l1-bad-answer')
  if (isBadData) choice.sentBadData(index, message)
  else choice.failed(index, message)
}

function isNotFound(error: unknown): boolean {
  return error instanceof DeviumError && error.code === 'l1-not-found'
}
