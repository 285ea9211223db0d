import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { AnvilL1 } from './anvilL1.ts'
import { GethL1 } from './gethL1.ts'
import type { L1 } from './l1.ts'
import type { RunningPrograms } from './runningPrograms.ts'
import type { TestnetSetup } from './setup.ts'

export function createL1(modules: { programs: RunningPrograms; client: RpcClient }, setup: TestnetSetup): L1 {
  const { l1Client, chain, ports, layout, host } = setup
  if (l1Client === 'anvil') return new AnvilL1(modules, setup)
  if (chain.l1 === undefined || ports.l1Engine === undefined) throw new RangeError('the setup has no go-ethereum')
  return new GethL1(modules, {
    ...{ layout, host, chain, binary: l1Client.geth, parameters: chain.l1 },
    ports: { rpc: ports.l1, engine: ports.l1Engine, beacon: ports.beacon },
  })
}
