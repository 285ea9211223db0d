import { checksumAddress } from '../../src/lib/checksumAddress.ts'
import type { Hex } from '../../src/lib/hex.ts'
import { roles } from '../accounts.ts'
import { batchInboxAddress } from '../chainParameters.ts'
import { PREDEPLOYS, predeployAddress, WETH } from '../genesis/predeploys.ts'
import { MULTICALL3_ADDRESS } from '../l1/deploy.ts'
import type { Endpoints } from './events.ts'

/** The addresses that an application needs. Addresses have the EIP-55 checksum that Solidity requires. Times are in seconds. */
export interface AddressBook {
  l1: { chainId: number; blockTime: number; rpc: string; contracts: Record<string, Hex>; batchInbox: Hex }
  /** RPCs of the sequencer. */
  l2: { chainId: number; blockTime: number; rpc: string; ws: string; contracts: Record<string, Hex> }
  roles: Record<string, Hex>
  /** The rollup nodes, for `devium status --dir`. */
  nodes: { name: string; rollupRpc: string }[]
}

/** The content of addresses.json. */
export function addressBook({ l1, l2, nodes }: Pick<Endpoints, 'l1' | 'l2' | 'nodes'>): AddressBook {
  const [sequencer] = nodes
  const predeploys = Object.entries({ ...PREDEPLOYS, WETH }).map(([name, low]): [string, Hex] => [
    name,
    predeployAddress(low),
  ])
  return {
    l1: {
      chainId: l1.chainId,
      blockTime: l1.blockTime,
      rpc: l1.rpc,
      contracts: checksummed({ ...l1.contracts, Multicall3: MULTICALL3_ADDRESS }),
      batchInbox: checksumAddress(batchInboxAddress(l2.chainId)),
    },
    l2: {
      chainId: l2.chainId,
      blockTime: l2.blockTime,
      rpc: sequencer?.ethRpc ?? '',
      ws: sequencer?.ethWs ?? '',
      contracts: checksummed({ ...Object.fromEntries(predeploys), Multicall3: MULTICALL3_ADDRESS }),
    },
    roles: checksummed(Object.fromEntries(Object.entries(roles).map(([name, { address }]) => [name, address]))),
    nodes: nodes.map(({ name, rollupRpc }) => ({ name, rollupRpc })),
  }
}

/** The L1 contracts that applications and their users need. */
const CONTRACTS_SHOWN = [
  'OptimismPortal',
  'L1StandardBridge',
  'L1CrossDomainMessenger',
  'L2OutputOracle',
  'SystemConfig',
] as const

/** `OptimismPortal          0x…`, one a line. */
export function contractLines({ l1 }: Pick<Endpoints, 'l1'>): string[] {
  return CONTRACTS_SHOWN.map((name) => `${name.padEnd(22)}  ${checksumAddress(l1.contracts[name])}`)
}

function checksummed(addresses: Readonly<Record<string, Hex>>): Record<string, Hex> {
  return Object.fromEntries(Object.entries(addresses).map(([name, address]) => [name, checksumAddress(address)]))
}
