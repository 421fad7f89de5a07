// placeholder
export async function openApps({root}) { root.textContent='apps'; }
export const openApp = openApps; export const openUser = openApps;
