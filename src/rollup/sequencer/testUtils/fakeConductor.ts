import { createRpcApp, serveApp } from '../../../jsonRpc/httpServer.ts'
import { createRpcDispatcher, type RpcHandler } from '../../../jsonRpc/server.ts'
import { JsonRpcError } from '../../../jsonRpc/types.ts'
import { payloadEnvelopeFromJson } from '../../protocol/index.ts'
import type { PayloadEnvelope } from '../../protocol/types.ts'

/**
 * op-conductor's RPC over HTTP. Several conductors may share one `log`, like the members of a cluster. Only the leader
 * appends to it, and it keeps the highest block.
 */
export interface FakeConductor {
  readonly url: string
  readonly log: RaftLog
  isLeader: boolean
  readonly calls: string[]
  /** Runs before each call is answered. An error that it throws becomes the answer. */
  fault: ((method: string) => void | Promise<void>) | undefined
  close(): Promise<void>
}

export interface RaftLog {
  readonly committed: PayloadEnvelope[]
  /** The latest unsafe block. A later block of the same height or below does not replace it. */
  head: PayloadEnvelope | undefined
}

export function createRaftLog(): RaftLog {
  return { committed: [], head: undefined }
}

export async function startFakeConductor(log: RaftLog = createRaftLog(), isLeader = true): Promise<FakeConductor> {
  const calls: string[] = []
  const answers: Record<string, RpcHandler> = {
    conductor_leader: () => conductor.isLeader,
    conductor_commitUnsafePayload: ([envelope = null]) => {
      if (!conductor.isLeader)
        throw new JsonRpcError(-32000, 'failed to apply payload envelope: node is not the leader')
      const block = payloadEnvelopeFromJson(envelope)
      log.committed.push(block)
      if (log.head === undefined || log.head.payload.blockNumber < block.payload.blockNumber) log.head = block
      return null
    },
  }
  const methods = new Map<string, RpcHandler>()
  for (const [name, answer] of Object.entries(answers)) {
    methods.set(name, async (params, context) => {
      calls.push(name)
      await conductor.fault?.(name)
      return answer(params, context)
    })
  }
  const server = await serveApp(createRpcApp({ dispatcher: createRpcDispatcher({ methods }) }), '127.0.0.1', 0, 'test')
  const conductor: FakeConductor = {
    url: server.url,
    log,
    isLeader,
    calls,
    fault: undefined,
    close: () => server.close(),
  }
  return conductor
}
