import bootnodes from './bootnodes.generated.json' with { type: 'json' }

/**
 * Well-known discovery nodes (`enr:…` or `enode://…`) of the OP Stack chains on an L1, by the L1's chain id. Empty for
 * a private L1.
 */
export function bootnodesOf(l1ChainId: bigint): readonly string[] {
  return new Map<string, readonly string[]>(Object.entries(bootnodes)).get(l1ChainId.toString()) ?? []
}
