export async function openKeys({root}) { root.textContent='keys'; }
export const openServer = openKeys;
