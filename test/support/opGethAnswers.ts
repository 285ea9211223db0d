import type { ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { TEST_JWT_SECRET } from '../../src/execution/testUtils/executionNode.ts'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { JsonRpcError } from '../../src/jsonRpc/types.ts'
import { launchOpGeth } from './opGeth.ts'
import { claimPort } from './programs.ts'

export type Call = readonly [method: string, ...params: unknown[]]

export interface ComparedGeth {
  process: ChildProcess
  eth: RpcClient
  engine: RpcClient
  wsUrl: string
}

/** Starts the binary on a new chain, with its files in `directory`. */
export async function startComparedGeth(path: string, directory: string, genesis: unknown): Promise<ComparedGeth> {
  const file = join(directory, 'genesis.json')
  writeFileSync(file, JSON.stringify(genesis))
  const ws = await claimPort()
  // On a busy machine the default of 5 s is too short for calls that use all their gas.
  const flags = [
    '--rpc.evmtimeout=0',
    '--http.api=eth,net,web3,debug,txpool',
    '--maxpeers=0',
    '--ws',
    `--ws.port=${ws}`,
  ]
  const geth = await launchOpGeth(path, { directory, genesis: file, secret: TEST_JWT_SECRET, flags })
  const eth = createPatientClient({ url: geth.rpcUrl })
  const engine = createPatientClient({ url: geth.engineUrl, jwtSecret: TEST_JWT_SECRET })
  return { process: geth.process, eth, engine, wsUrl: `ws://127.0.0.1:${ws}` }
}

/** The comparable part of a response. Each client has its own wording after "invalid argument N". */
function visible(answer: unknown): unknown {
  if (!(answer instanceof JsonRpcError)) return answer
  const { rpcCode, message, data } = answer
  // devium-geth has the detail in the message too, op-geth only in data.
  if (typeof data === 'object' && data !== null && 'err' in data) return { rpcCode, detail: data }
  if (rpcCode === -32602 && message.startsWith('invalid argument')) return { rpcCode, message: message.slice(0, 18) }
  return { rpcCode, message, data }
}

/** Expects equal responses to each call. */
export async function expectSameAnswers(
  ours: Pick<RpcClient, 'batch'>,
  geth: Pick<RpcClient, 'batch'>,
  calls: readonly Call[],
): Promise<void> {
  const answers: { call: Call; mine: unknown; theirs: unknown }[] = []
  for (const call of calls) {
    const [method, ...params] = call
    const [[theirs], [mine]] = await Promise.all([geth.batch([{ method, params }]), ours.batch([{ method, params }])])
    answers.push({ call, mine: visible(mine), theirs: withoutWitness(visible(theirs)) })
  }
  const shown = (side: 'mine' | 'theirs') => answers.map(({ call, [side]: answer }) => ({ call, answer }))
  expect(shown('mine')).toEqual(shown('theirs'))
}

/** Removes members that this op-geth has and the Engine API has dropped. */
function withoutWitness(answer: unknown): unknown {
  if (Array.isArray(answer)) return answer.map(withoutWitness)
  if (typeof answer !== 'object' || answer === null) return answer
  const dropped = ['witness', 'depositRequests']
  // In traces, the error of a failed inner call.
  if ('op' in answer && 'depth' in answer && answer.depth !== 1) dropped.push('error')
  const entries = Object.entries(answer).filter(([name]) => !dropped.includes(name))
  return Object.fromEntries(entries.map(([name, value]) => [name, withoutWitness(value)]))
}
