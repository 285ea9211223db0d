/**
 * Whether blocks that are built here refund to their transactions what the block has warmed (Lagoon). The operator decides, by a flag
 * or by RPC. A restart goes back to the flag, as in op-reth.
 */
export interface SdmOptIn {
  isOn: boolean
}
