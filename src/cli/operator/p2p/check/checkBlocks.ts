import type { Connection } from '@libp2p/interface'
import type { Clock } from '../../../../lib/clock.ts'
import { describeError } from '../../../../lib/errors.ts'
import { blockProtocols, RESULT } from '../../../../p2p/sync/payloadByNumber.ts'
import { type BlockAnswer, requestBlock } from './blockProbe.ts'
import { printable, type Recorder } from './steps.ts'

const REFUSALS: Readonly<Record<number, string>> = {
  [RESULT.notFound]: 'it does not have the block',
  [RESULT.invalidRequest]: 'it reports an invalid request (is the block in the future, or before genesis?)',
  [RESULT.unknownError]: 'it reports an internal error',
}

/** Limit of the chains named in a text, because a peer may invent many. */
const MAX_NAMED = 3

/** Checks that the peer serves blocks by number. Otherwise gaps are filled from other peers or from L1. */
export async function checkBlocks(
  modules: { clock: Clock; record: Recorder },
  connection: Connection,
  protocols: readonly string[],
  options: { chainId: bigint | undefined; blockNumber: number | undefined; timeoutMs: number },
): Promise<void> {
  const { clock, record } = modules
  const { chainId, blockNumber, timeoutMs } = options
  const served = blockProtocols(protocols)
  const chains = [...new Set(served.map((entry) => entry.chainId))]
  const data = { protocols: served.map(({ protocol }) => protocol) }
  if (served.length === 0) {
    record('blocks', 'warning', 'it does not serve blocks by number', {
      hint: 'missing blocks come from the execution client, other peers or L1. This costs the peer no score',
    })
    return
  }
  const [chosen] = served.filter((entry) => chainId === undefined || entry.chainId === chainId)
  if (chosen === undefined) {
    record(
      'blocks',
      'failed',
      `it serves blocks of chain ${chains.slice(0, MAX_NAMED).join(' and ')}, not of chain ${chainId}`,
      { data },
    )
    return
  }
  const what = `blocks of chain ${chosen.chainId} by number`
  if (blockNumber === undefined) {
    record('blocks', 'ok', `it serves ${what}; no block was requested`, {
      hint: 'request a block with --block <number>',
      data,
    })
    return
  }
  const startMs = clock.now()
  let answer: BlockAnswer
  try {
    answer = await requestBlock(connection, { protocol: chosen.protocol, number: blockNumber }, timeoutMs)
  } catch (error) {
    const text = `no valid answer for block ${blockNumber}: ${printable(describeError(error))}`
    record('blocks', 'warning', text, { tookMs: clock.now() - startMs, data })
    return
  }
  const tookMs = clock.now() - startMs
  if (answer.kind === 'refusal') {
    const why = REFUSALS[answer.code] ?? `code ${answer.code}`
    record('blocks', 'warning', `it serves ${what}, but not block ${blockNumber}: ${why}`, { tookMs, data })
  } else {
    record('blocks', 'ok', `it serves ${what}, and sent block ${blockNumber}`, {
      tookMs,
      data: { ...data, blockHash: answer.hash },
    })
  }
}
