/** The fault of a response; undefined if there is none. */
export type Fault = string | undefined

/** geth's limit, and ours. */
const MAX_BATCH = 1_000

/**
 * The ids of the responses that JSON-RPC 2.0 requires for a body, in order: none for notifications. `alone`: the single response
 * is not in a batch.
 */
export function expectedIds(text: string): { ids: unknown[]; alone: boolean } {
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch {
    return { ids: [null], alone: true }
  }
  const isRefused = isTooDeep(text)
  if (!Array.isArray(content)) {
    const ids = idsOf(content)
    return { ids: ids.length === 0 && isRefused ? [null] : ids, alone: true }
  }
  if (content.length === 0 || isRefused) return { ids: [null], alone: true }
  if (content.length > MAX_BATCH) {
    const [id] = content.map((request) => request?.id).filter((given) => given !== undefined)
    return { ids: [comparable(id)], alone: false }
  }
  return { ids: content.flatMap(idsOf), alone: false }
}

/** Deeply nested bodies are refused as a whole before parsing. */
const isTooDeep = (text: string) => /(\[|\{"a":){300}/.test(text)

function idsOf(request: unknown): unknown[] {
  if (typeof request !== 'object' || request === null || Array.isArray(request)) return [null]
  const { id, method } = request as { id?: unknown; method?: unknown }
  if (id === undefined && typeof method === 'string') return []
  return [comparable(id)]
}

/** An id that is too large a number cannot be returned; null is accepted instead. */
export function comparable(id: unknown): unknown {
  return typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id)) ? id : null
}

/** `answer` is the response text; undefined if there was no response. */
export function faultOfAnswer(sent: string, answer: string | undefined): Fault {
  const { ids, alone } = expectedIds(sent)
  if (answer === undefined) return ids.length === 0 ? undefined : 'no answer to a request'
  if (ids.length === 0) return 'an answer to a notification'
  let content: unknown
  try {
    content = JSON.parse(answer)
  } catch {
    return 'an answer that is no JSON'
  }
  if (alone) return faultOf(content, ids[0])
  if (!Array.isArray(content)) return 'an answer to a batch that is none'
  if (content.length !== ids.length) return `${content.length} answers to ${ids.length} requests`
  return content.map((one, index) => faultOf(one, ids[index])).find((fault) => fault !== undefined)
}

/** The fault of a single response, alone or in a batch. */
export function faultOf(answer: unknown, id: unknown): Fault {
  if (typeof answer !== 'object' || answer === null) return 'an answer that is no object'
  const { jsonrpc, id: answered, error, ...rest } = answer as Record<string, unknown>
  if (jsonrpc !== '2.0') return 'an answer without jsonrpc 2.0'
  if (comparable(answered) !== id) return `an answer to ${JSON.stringify(answered)} instead of ${JSON.stringify(id)}`
  if ('result' in rest === (error !== undefined)) return 'an answer with both result and error, or neither'
  if (Object.keys(rest).some((name) => name !== 'result')) return 'an answer with further members'
  if (error === undefined) return undefined
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (!Number.isInteger(code) || typeof message !== 'string') return 'an error without code or message'
  return code === -32603 ? `an error that nobody meant: ${message}` : undefined
}
